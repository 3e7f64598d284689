package backend

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Factory builds the backends of one kind of endpoint. It may be used by many goroutines.
type Factory interface {
	// Backend is the kind of endpoint it builds; never blank, always the same.
	Backend() string
	// Build makes the backend of an endpoint ready, without calling the remote. It refuses an endpoint it cannot use with a
	// ConfigError.
	Build(endpoint Endpoint) (Backend, error)
}

// Validator is a Factory that can look at an endpoint without building it.
type Validator interface {
	// Validate returns the ConfigError that Build would.
	Validate(endpoint Endpoint) error
}

// ValidateEndpoint asks the factory what it thinks of an endpoint: by Validate where it has one, else by building the
// backend and dropping it.
func ValidateEndpoint(factory Factory, endpoint Endpoint) error {
	if validator, ok := factory.(Validator); ok {
		return validator.Validate(endpoint)
	}
	_, err := factory.Build(endpoint)
	return err
}

// Registry holds the factories of a program by the kind of endpoint. It does not change once it is made.
type Registry struct{ factories map[string]Factory }

// NewRegistry refuses a blank kind, and two factories of one kind.
func NewRegistry(factories ...Factory) (*Registry, error) {
	registry := &Registry{factories: make(map[string]Factory, len(factories))}
	for _, factory := range factories {
		kind := factory.Backend()
		if strings.TrimSpace(kind) == "" {
			return nil, fmt.Errorf("backend registry: a factory has a blank kind")
		}
		if _, ok := registry.factories[kind]; ok {
			return nil, fmt.Errorf("backend registry: two factories of kind %q", kind)
		}
		registry.factories[kind] = factory
	}
	return registry, nil
}

// Kinds lists the kinds of endpoint, sorted.
func (r *Registry) Kinds() []string {
	kinds := make([]string, 0, len(r.factories))
	for kind := range r.factories {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	return kinds
}

// Resolve is the agent at the endpoint. The endpoint is validated now, and its backend is built when it is first needed.
// It returns ErrUnsupportedBackend for a kind without a factory, and ConfigErrors; both name the agent.
func (r *Registry) Resolve(agentID, modelID string, endpoint Endpoint) (*ResolvedAgent, error) {
	factory, ok := r.factories[endpoint.Backend]
	if !ok {
		return nil, fmt.Errorf("agent %q: %w %q", agentID, ErrUnsupportedBackend, endpoint.Backend)
	}
	if err := ValidateEndpoint(factory, endpoint); err != nil {
		return nil, fmt.Errorf("agent %q: %w", agentID, err)
	}
	return &ResolvedAgent{AgentID: agentID, ModelID: modelID, factory: factory, endpoint: endpoint}, nil
}

// ResolvedAgent is a remote agent whose backend is built once, when it is first needed.
type ResolvedAgent struct {
	AgentID string // immutable
	ModelID string // immutable; names the model in events

	factory  Factory
	endpoint Endpoint

	mu      sync.Mutex
	backend Backend // guarded by mu
}

// NewResolvedAgent is a remote agent whose backend is there already.
func NewResolvedAgent(agentID, modelID string, backend Backend) *ResolvedAgent {
	return &ResolvedAgent{AgentID: agentID, ModelID: modelID, backend: backend}
}

// Backend is the agent's backend. A failure to build it is of kind ErrorExecutionFailed and is not kept: the next call
// tries again.
func (a *ResolvedAgent) Backend() (Backend, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.backend != nil {
		return a.backend, nil
	}
	built, err := a.factory.Build(a.endpoint)
	if err != nil {
		return nil, &Error{
			Kind: ErrorExecutionFailed, Err: err,
			Message: fmt.Sprintf(buildFailedFormat, a.factory.Backend(), err),
		}
	}
	a.backend = built
	return built, nil
}

const buildFailedFormat = "failed to build backend '%s': %v"
