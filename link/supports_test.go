package link_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/link"
	"github.com/pawl-run/pawl/link/linktest"
)

func TestWhatABackendDoesNotTakeIsRefusedInItsWords(t *testing.T) {
	t.Parallel()
	store := memory(t)
	before := store.Dump()
	s := service(t, store, func(cfg *link.Config) {
		cfg.Validate = func(definition *agent.Definition, overrides execution.Overrides) error {
			if overrides.Model == "" {
				return nil
			}
			return errors.New("agent '" + definition.Name + "' backend does not support: overrides")
		}
	})
	request := linktest.Request("hello")
	request.Agent, request.Model = "remote", "large"
	local := s.As(execution.Authority{Caller: execution.LocalCaller(), Role: execution.OperateRole})
	_, err := local.Create(t.Context(), "", request)
	var refused *execution.APIError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "model", refused.Field)
	require.Equal(t, "agent 'remote' backend does not support: overrides", refused.Detail)
	require.Equal(t, before, store.Dump(), "nothing is stored for it")
	request.Agent, request.Model, request.Instructions = "demo", "", "Be brief."
	_, err = local.Create(t.Context(), "", request)
	require.NoError(t, err)
}
