package app

import (
	"errors"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/backend/a2a"
	"github.com/pawl-run/pawl/execution"
)

// declared is a backend of which only the capabilities count.
type declared struct {
	backend.Base
	capabilities backend.Capabilities
}

// Capabilities is what was declared.
func (d declared) Capabilities() backend.Capabilities { return d.capabilities }

// capabilitiesOf is what the backend of an agent can do. No secret is needed to know it.
func capabilitiesOf(definition *agent.Definition) backend.Capabilities {
	if definition.Remote() {
		return a2a.Capabilities()
	}
	return backend.Full()
}

// validateRoot refuses a submission that needs what the agent's backend cannot do.
func validateRoot(definition *agent.Definition, overrides execution.Overrides) error {
	request := backend.RootRunRequest{AgentID: definition.Name, FrontendTools: overrides.FrontendTools}
	if overrides.FrontendTools = nil; !overrides.OverridesNothing() {
		request.Overrides = &overrides
	}
	carrier := backend.NewResolvedAgent(definition.Name, "", declared{capabilities: capabilitiesOf(definition)})
	if err := backend.ResolvedRemote(carrier).ValidateRoot(request); err != nil {
		return errors.New(backend.ErrorMessage(err))
	}
	return nil
}
