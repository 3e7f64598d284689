package linktest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
)

func createKeepsRoster(t *testing.T, h Harness) {
	request := Request("hello")
	request.Agent, request.Model = "lead", "small"
	created, err := h.Local().Create(bounded(t), "", request)
	require.NoError(t, err)
	row, err := h.Store.Get(bounded(t), created.View.ID)
	require.NoError(t, err)
	adjustments, err := agent.DecodeAdjustments(row.Overrides)
	require.NoError(t, err)
	require.Equal(t, "small", adjustments.Model, "beside what the submission overrides")

	stored, err := h.Store.Definition(bounded(t), adjustments.Roster)
	require.NoError(t, err)
	roster, err := agent.DecodeRoster(stored)
	require.NoError(t, err)
	catalog := Catalog(t)
	require.Len(t, roster.Agents, 2)
	for name, hash := range roster.Agents {
		declared, known := catalog.Agent(name)
		require.True(t, known)
		require.Equal(t, declared.Hash(), hash)
		definition, err := h.Store.Definition(bounded(t), hash)
		require.NoError(t, err)
		require.Equal(t, string(declared.Canonical()), string(definition))
	}

	Claim(t, h.Store, created.View.ID).step(`{"v":1,"length":2}`, `{"role":"assistant","text":"one"}`)
	fork, err := h.Local().Fork(bounded(t), created.View.ID, "", execution.ForkRequest{Step: 1, Model: "tiny"})
	require.NoError(t, err)
	forked, err := h.Store.Get(bounded(t), fork.View.ID)
	require.NoError(t, err)
	requireRoster(t, adjustments.Roster, "tiny", forked.Overrides)
	request.Agent, request.Model = "demo", ""
	created, err = h.Local().Create(bounded(t), "", request)
	require.NoError(t, err)
	row, err = h.Store.Get(bounded(t), created.View.ID)
	require.NoError(t, err)
	require.Empty(t, row.Overrides, "an agent that calls none has no roster")
}

func requireRoster(t *testing.T, roster, model string, overrides []byte) {
	t.Helper()
	want, err := json.Marshal(map[string]string{"roster": roster, "model": model})
	require.NoError(t, err)
	require.JSONEq(t, string(want), string(overrides))
}
