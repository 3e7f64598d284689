package linktest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// stopped is an execution that a limit has suspended.
func stopped(t *testing.T, h Harness, request execution.CreateRequest) execution.ID {
	t.Helper()
	created, err := h.Local().Create(bounded(t), "", request)
	require.NoError(t, err)
	stopAgain(t, h, created.View.ID)
	return created.View.ID
}

func stopAgain(t *testing.T, h Harness, id execution.ID) {
	t.Helper()
	w := Claim(t, h.Store, id)
	_, err := h.Store.Release(bounded(t), journal.Release{
		Hold:       journal.Hold{Execution: id, Fence: w.claim.Fence, Operation: 1},
		Suspension: &execution.Suspension{Reason: execution.ReasonLimit, Detail: "maxTurns (1)"},
	})
	require.NoError(t, err)
}

// inForce are the limits of a resume as they are stored.
func inForce(t *testing.T, h Harness, id execution.ID) (limits execution.Limits, model string) {
	t.Helper()
	row, err := h.Store.Get(bounded(t), id)
	require.NoError(t, err)
	var stored struct {
		Model  string           `json:"model"`
		Limits execution.Limits `json:"limits"`
	}
	require.NoError(t, json.Unmarshal(row.Overrides, &stored))
	return stored.Limits, stored.Model
}

func resumeLimits(t *testing.T, h Harness) {
	request := Request("hello")
	request.Agent, request.Model = "priced", "large"
	request.Limits = &execution.Limits{MaxTurns: 1, MaxToolCalls: 7, Deadline: time.Minute}
	id := stopped(t, h, request)
	ask := func(limits execution.Limits) (changed bool) {
		steered, err := h.Local().Resume(bounded(t), id, execution.ResumeRequest{Limits: &limits, Reason: "more"})
		require.NoError(t, err)
		return steered.Changed
	}
	require.True(t, ask(execution.Limits{MaxTurns: 5, Deadline: time.Hour}))
	unchanged(t, h, func() { require.False(t, ask(execution.Limits{MaxTurns: 5, Deadline: time.Hour}), "repeated") })
	want := execution.Limits{MaxTurns: 5, MaxToolCalls: 7, MaxCost: 1_000_000, Deadline: time.Hour}
	limits, model := inForce(t, h, id)
	require.Equal(t, want, limits, "field by field, over the submission's and the agent's")
	require.Equal(t, "large", model, "what the submission overrides stays")
	row, err := h.Store.Get(bounded(t), id)
	require.NoError(t, err)
	require.Equal(t, row.StartedAtMs+time.Hour.Milliseconds(), row.DeadlineAtMs)

	stopAgain(t, h, id)
	require.True(t, ask(execution.Limits{MaxToolCalls: 9, MaxCost: 2_000_000}))
	want.MaxToolCalls, want.MaxCost = 9, 2_000_000
	limits, _ = inForce(t, h, id)
	require.Equal(t, want, limits, "over those of the resume before")
	Claim(t, h.Store, id).Complete("done")
}

func resumeLimitRefusals(t *testing.T, h Harness) {
	id := stopped(t, h, Request("hello"))
	unchanged(t, h, func() {
		for field, limits := range map[string]execution.Limits{
			"limits.maxTurns": {MaxTurns: -1}, "limits.maxCost": {MaxCost: 1}, // no price is known
			"limits.deadlineMs": {Deadline: -time.Second}, "limits.maxTotalTokens": {MaxTotalTokens: 1 << 60},
		} {
			_, err := h.Local().Resume(bounded(t), id, execution.ResumeRequest{Limits: &limits})
			Refused(t, err, execution.InvalidRequest, field)
		}
	})
	steered, err := h.Local().Resume(bounded(t), id, execution.ResumeRequest{Limits: &execution.Limits{}})
	require.NoError(t, err)
	require.True(t, steered.Changed, "limits that say nothing are none")
	row, err := h.Store.Get(bounded(t), id)
	require.NoError(t, err)
	require.Empty(t, row.Overrides)
}
