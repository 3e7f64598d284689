package link

import (
	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
)

// supports refuses overrides that the agent's backend does not take, before anything is stored for the execution.
func (s *Service) supports(definition *agent.Definition, overrides execution.Overrides) error {
	field := unsupported(capabilities(definition), overrides)
	if field == "" || s.cfg.Validate == nil {
		return nil // what is wrong otherwise is found where the overrides are applied
	}
	if err := s.cfg.Validate(definition, overrides); err != nil {
		return invalid(field, "%v", err).Because(err)
	}
	return nil
}
