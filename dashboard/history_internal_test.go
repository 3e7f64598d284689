package dashboard

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

func TestACallWhoseOutcomeNobodyKnowsIsMarked(t *testing.T) {
	t.Parallel()
	events := []execution.Event{
		{OccurredAtMs: 1, Payload: &execution.ToolStarted{CallID: "call_1_0", Name: "refund"}},
		{OccurredAtMs: 1, Payload: &execution.ToolStarted{CallID: "call_1_1", Name: "lookup"}},
	}
	calls := callsOf("exec", events, nil)
	require.Equal(t, "exec:call_1_0", calls[0].Effect)
	question := &execution.Interaction{Calls: []execution.InteractionCall{{CallID: "call_1_0"}}}
	markUnknown(calls, question)
	require.False(t, calls[0].Unknown, "it waits for an approval")
	question.Reason = execution.OutcomeUnknown
	markUnknown(calls, question)
	require.True(t, calls[0].Unknown)
	require.False(t, calls[1].Unknown)
	markUnknown(nil, nil)
}
