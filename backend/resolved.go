package backend

import (
	"context"
	"fmt"
	"strings"
)

const (
	unsupportedFormat    = "agent '%s' backend does not support: %s"
	unsupportedSeparator = ", "
)

// Resolved is what carries out an agent: the loop of this process, or a remote agent. The zero value is local.
type Resolved struct{ remote *ResolvedAgent }

// ResolvedLocal is the loop of this process.
func ResolvedLocal() Resolved { return Resolved{} }

// ResolvedRemote is a remote agent.
func ResolvedRemote(agent *ResolvedAgent) Resolved { return Resolved{remote: agent} }

// Remote is the remote agent, nil when the agent is local.
func (r Resolved) Remote() *ResolvedAgent { return r.remote }

func (r Resolved) backend() (Backend, error) {
	if r.remote == nil {
		return Local{}, nil
	}
	return r.remote.Backend()
}

// Capabilities is Full for a local agent, else what its backend declares. A backend that cannot be built is an error.
func (r Resolved) Capabilities() (Capabilities, error) {
	backend, err := r.backend()
	if err != nil {
		return Capabilities{}, err
	}
	return backend.Capabilities(), nil
}

// ValidateRoot refuses a request that needs what the agent's backend cannot do. Ask before anything is taken for the run.
func (r Resolved) ValidateRoot(request RootRunRequest) error {
	capabilities, err := r.Capabilities()
	if err != nil {
		return err
	}
	return unsupported(request.AgentID, capabilities.UnsupportedRootFeatures(request))
}

// ValidateDelegate is the same for a delegate.
func (r Resolved) ValidateDelegate(request DelegateRunRequest) error {
	capabilities, err := r.Capabilities()
	if err != nil {
		return err
	}
	return unsupported(request.AgentID, capabilities.UnsupportedDelegateFeatures(request))
}

// ExecuteDelegate validates the request and hands it to the agent's backend.
func (r Resolved) ExecuteDelegate(ctx context.Context, request DelegateRunRequest) (RunResult, error) {
	if err := r.ValidateDelegate(request); err != nil {
		return RunResult{}, err
	}
	backend, err := r.backend()
	if err != nil {
		return RunResult{}, err
	}
	return backend.ExecuteDelegate(ctx, request)
}

func unsupported(agentID string, features []string) error {
	if len(features) == 0 {
		return nil
	}
	return ExecutionFailed(fmt.Sprintf(unsupportedFormat, agentID, strings.Join(features, unsupportedSeparator)))
}
