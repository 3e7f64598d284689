package dashboard

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

// parts are the bars of a picture's tool calls, in their order: of which kind, and for how many ms.
func parts(t *testing.T, s shown) (all []any) {
	t.Helper()
	picture := draw(s)
	require.NotNil(t, picture)
	for _, b := range picture.Bars {
		if slices.Contains([]string{"tool", "failed", "waiting", "suspended", "pause"}, b.Kind) && b.Y > picture.Lanes[len(picture.Lanes)-1].Y-laneHeight {
			all = append(all, b.Kind, b.took)
		}
	}
	return all
}

// begun is the log of an execution that calls one tool, and how it goes on.
func begun(rest ...any) []execution.Event {
	return log(append([]any{1000, &execution.ExecutionQueued{}, 1010, &execution.ExecutionStarted{}, 2000, refund()}, rest...)...)
}

func refund() *execution.ToolStarted {
	return &execution.ToolStarted{CallID: "call_0_0", Name: "refund"}
}

func refunded(failed bool) *execution.ToolCompleted {
	return &execution.ToolCompleted{CallID: "call_0_0", Name: "refund", Failed: failed}
}

func required(kind execution.InteractionKind) *execution.InteractionRequired {
	return &execution.InteractionRequired{RequestID: "r", Kind: kind}
}

func received() *execution.InteractionReceived { return &execution.InteractionReceived{RequestID: "r"} }

// waitCase is how the log goes on behind a planned call, and the parts in which it is drawn.
type waitCase struct{ rest, want []any }

func waitCases() map[string]waitCase {
	ended := &execution.ExecutionCompleted{}
	return map[string]waitCase{
		"it runs from the approval on": {
			[]any{2005, required(execution.Approval), 9000, received(), 9500, refunded(true), 9600, ended},
			[]any{"waiting", int64(7000), "failed", int64(500)},
		},
		"it is asked about twice": {
			[]any{2005, required(execution.Approval), 5000, received(), 5010, required(execution.Approval), 9000, received(), 9500, refunded(false), 9600, ended},
			[]any{"waiting", int64(7000), "tool", int64(500)},
		},
		"what a tool asks, it asks while it runs": {
			[]any{2500, required(execution.Elicitation), 9000, received(), 9500, refunded(false), 9600, ended},
			[]any{"tool", int64(500), "waiting", int64(6500), "tool", int64(500)},
		},
		"it was sent by a worker that died": {
			[]any{
				4000, &execution.Warning{Code: execution.WarningReclaimed}, 4010, required(execution.Approval), 9000, received(),
				9500, refunded(false), 9600, ended,
			},
			[]any{"tool", int64(2010), "waiting", int64(4990), "tool", int64(500)},
		},
		"the execution is suspended and resumed": {
			[]any{3000, &execution.ExecutionSuspended{}, 8000, &execution.ExecutionResumed{}, 9000, refunded(false), 9600, ended},
			[]any{"tool", int64(1000), "suspended", int64(5000), "tool", int64(1000)},
		},
		"it is suspended while the question is open": {
			[]any{
				2005, required(execution.Approval), 3000, &execution.ExecutionSuspended{}, 8000, &execution.ExecutionResumed{},
				9000, received(), 9500, refunded(false), 9600, ended,
			},
			[]any{"waiting", int64(7000), "tool", int64(500)},
		},
		"the execution is canceled meanwhile": {
			[]any{2005, required(execution.Approval), 9000, &execution.ExecutionCanceled{}}, []any{"waiting", int64(7000)},
		},
		"it is tried again": {
			[]any{
				3000, &execution.RetryScheduled{Node: "tool_call", AtMs: 5000}, 6000, &execution.RetryScheduled{Node: "tool_call", AtMs: 99_000},
				7000, &execution.ExecutionSuspended{}, 8000, &execution.ExecutionResumed{}, 9000, refunded(false), 9600, ended,
			},
			[]any{
				"tool", int64(1000), "pause", int64(2000), "tool", int64(1000), "pause", int64(1000), "suspended", int64(1000), "tool", int64(1000),
			},
		},
		"the model is tried again": {
			[]any{3000, &execution.RetryScheduled{Node: "before_model_request", AtMs: 5000}, 9000, refunded(false), 9600, ended},
			[]any{"tool", int64(7000)},
		},
		"nobody is asked": {[]any{9000, refunded(false), 9600, ended}, []any{"tool", int64(7000)}},
	}
}

func TestACallThatWaitsForAnApprovalIsDrawnWaiting(t *testing.T) {
	t.Parallel()
	for name, test := range waitCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, parts(t, shown{events: begun(test.rest...), state: execution.Completed, nowMs: 20_000}))
		})
	}
}

func TestACallThatStartedAChildGoesOnWhileItsParentAsks(t *testing.T) {
	t.Parallel()
	events := begun(2005, required(execution.Elicitation), 9000, received(), 9500, refunded(false), 9600, &execution.ExecutionCompleted{})
	children := childCalls(&execution.View{Children: []execution.Child{{Call: "call_0_0"}}})
	got := parts(t, shown{events: events, state: execution.Completed, nowMs: 20_000, children: children})
	require.Equal(t, []any{"tool", int64(7500)}, got)
}

// TestAWaitIsToldInWordsToo: in the title of its bar, in the key, and in the sentence that stands for the whole picture.
func TestAWaitIsToldInWordsToo(t *testing.T) {
	t.Parallel()
	got := draw(shown{events: begun(2005, required(execution.Approval)), state: execution.WaitingForInput, nowMs: 12_000})
	require.Contains(t, got.Summary, "1 tool call in 11.0 s; 1 of the calls waited, 10.0 s")
	last := got.Bars[len(got.Bars)-1]
	require.True(t, last.Open)
	require.Contains(t, last.Title, "refund call_0_0 waits for a decision, 10.0 s so far")
	require.Contains(t, got.Key, keyed{"waiting", "waits for a person or a result"})
	require.NotContains(t, got.Key, keyed{"tool", "a tool call at work"}, "what is not there is not explained")
	after := draw(shown{events: begun(2005, required(execution.Approval), 3000, &execution.ExecutionSuspended{}, 4000,
		&execution.ExecutionResumed{}), state: execution.WaitingForInput, nowMs: 12_000})
	require.Equal(t, "waiting for input, 8.0 s so far", told(t, after, "waiting")[1], "a resume leads back to the question")
}

func TestAModelThatIsAskedAgainIsDrawnInItsAttempts(t *testing.T) {
	t.Parallel()
	got := draw(shown{
		events: log(1000, &execution.ExecutionQueued{}, 1010, &execution.ExecutionStarted{}, 2000, &execution.ModelStarted{InvocationID: "i"},
			3000, &execution.RetryScheduled{Node: "before_model_request", AtMs: 5000}, 6000, &execution.ExecutionSuspended{}),
		state: execution.Suspended, nowMs: 9000,
	})
	require.Equal(t, []string{"turn 0, 1.0 s", "turn 0, 1.0 s"}, told(t, got, "model"))
	require.Equal(t, []string{"turn 0 waits for another attempt, 2.0 s"}, told(t, got, "pause"))
	require.Equal(t, []string{"suspended, 3.0 s so far", "turn 0 waits for the execution to be resumed, 3.0 s so far"}, told(t, got, "suspended"))
	require.Contains(t, got.Summary, "1 model request and 0 tool calls")
}
