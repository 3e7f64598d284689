package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

func TestShow_SaysWhatBecameOfADelegation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		view *execution.DelegationView
		want string
	}{
		"held":     {&execution.DelegationView{}, `delegation +until it ends\n`},
		"expiring": {&execution.DelegationView{ExpiresAtMs: 1_764_420_000_000}, `delegation +renewed until it ends; good until 2025-11-29 `},
		"revoked":  {&execution.DelegationView{Revoked: true}, `delegation +revoked\n`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := newFake(execution.View{Agent: "desk", State: execution.Running, Delegation: c.view})
			require.Regexp(t, c.want, typeCommand(t, api, true, nil, "show", string(anID)).out)
		})
	}
	api := newFake(execution.View{Agent: "desk", State: execution.Running})
	require.NotContains(t, typeCommand(t, api, true, nil, "show", string(anID)).out, "delegation")
}
