package app

import (
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/backend/a2a"
	"github.com/pawl-run/pawl/internal/telemetry"
)

// maxRemotes bounds the remote agents that a program keeps ready; beyond it one is dropped and made again when needed.
const maxRemotes = 256

// remotes are the remote agents of one program, each made once for a definition, so that its agent card is read once. They
// may be used by many goroutines.
type remotes struct {
	factory  *a2a.Factory
	registry *backend.Registry
	lookup   func(string) (string, bool)

	mu     sync.Mutex
	byHash map[string]*backend.ResolvedAgent // guarded by mu
}

// newRemotes knows every kind of remote backend. Close it.
func newRemotes(metrics *telemetry.Metrics, logger *slog.Logger) (*remotes, error) {
	factory, err := a2a.NewFactory(a2a.Config{Observer: metrics.Remotes(), Logger: logger})
	if err != nil {
		return nil, err
	}
	registry, err := backend.NewRegistry(factory)
	if err != nil {
		return nil, err
	}
	return &remotes{factory: factory, registry: registry, lookup: os.LookupEnv, byHash: map[string]*backend.ResolvedAgent{}}, nil
}

// Resolve is the agent of a remote definition, with its references taken from the environment. Errors show no secret.
func (r *remotes) Resolve(definition *agent.Definition) (*backend.ResolvedAgent, error) {
	hash := definition.Hash()
	r.mu.Lock()
	defer r.mu.Unlock()
	if made, ok := r.byHash[hash]; ok {
		return made, nil
	}
	endpoint, err := a2a.EndpointOf(definition, r.lookup)
	if err != nil {
		return nil, fmt.Errorf("agent %q: %w", definition.Name, err)
	}
	made, err := r.registry.Resolve(definition.Name, definition.Backend, endpoint)
	if err != nil {
		return nil, err
	}
	for old := range r.byHash {
		if len(r.byHash) < maxRemotes {
			break
		}
		delete(r.byHash, old)
	}
	r.byHash[hash] = made
	return made, nil
}

// Close closes connections that are kept for later requests.
func (r *remotes) Close() { r.factory.Close() }
