package dashboard

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

func TestHowFarAnOpenCallMayHaveComeIsSaid(t *testing.T) {
	t.Parallel()
	running, ended := &execution.View{State: execution.Running}, &execution.View{State: execution.Canceled}
	for _, c := range []struct {
		call     execution.LedgerEntry
		standing string // while the execution is open
		note     string // when it has ended
	}{
		{execution.LedgerEntry{State: execution.CallPlanned, Recovery: execution.RecoveryReadOnly}, "may have begun", "before the call was done"},
		{execution.LedgerEntry{State: execution.CallPlanned, Recovery: execution.RecoveryIdempotent}, "may have begun", "before the call was done"},
		{execution.LedgerEntry{State: execution.CallPlanned, Recovery: execution.RecoveryReconcile}, "not sent yet", "before the call was sent"},
		{execution.LedgerEntry{State: execution.CallPlanned, Recovery: execution.RecoveryUnsafe}, "not sent yet", "before the call was sent"},
		{execution.LedgerEntry{State: execution.CallStarted, Recovery: execution.RecoveryUnsafe}, "sent, or about to be", "Whether it had an effect is not known"},
		{execution.LedgerEntry{State: execution.CallPlanned}, "", "before the call was done"},
		{execution.LedgerEntry{State: execution.CallPlanned, Recovery: execution.RecoveryIdempotent, ChildID: "exec_1"}, "done when its child has ended", "before the call was done"},
		{execution.LedgerEntry{State: execution.CallDone, Recovery: execution.RecoveryUnsafe, Result: new(execution.ToolResult)}, "", ""},
	} {
		require.Equal(t, c.standing, standing(running, &c.call), "%+v", c.call)
		require.Empty(t, standing(ended, &c.call), "%+v", c.call)
		require.Contains(t, callNote(ended, &c.call), c.note, "%+v", c.call)
	}
}

// TestNothingIsSentOfACallThatAsksSomebody: what is said of it holds for calls of people, clients and agents too.
func TestNothingIsSentOfACallThatAsksSomebody(t *testing.T) {
	t.Parallel()
	asking := &execution.View{State: execution.WaitingForInput, Interaction: &execution.Interaction{
		Kind: execution.Elicitation, Calls: []execution.InteractionCall{{CallID: "call_0_0"}},
	}}
	human := &execution.LedgerEntry{CallID: "call_0_0", State: execution.CallPlanned, Recovery: execution.RecoveryReadOnly}
	require.Equal(t, "waits for an answer", standing(asking, human))
	next := &execution.LedgerEntry{CallID: "call_0_1", State: execution.CallPlanned, Recovery: execution.RecoveryReadOnly}
	require.Equal(t, "waits for its turn, or for its result", standing(asking, next))
	asking.Interaction.Kind = execution.Approval
	require.Equal(t, "waits for a decision", standing(asking, &execution.LedgerEntry{
		CallID: "call_0_0", State: execution.CallPlanned, Recovery: execution.RecoveryUnsafe,
	}))
	require.NotContains(t, classText(human), "sent")
	child := &execution.LedgerEntry{Recovery: execution.RecoveryIdempotent, ChildID: "exec_1"}
	require.Equal(t, "its child is started once, whatever becomes of the worker", classText(child))
	parent := &execution.View{State: execution.Running, Children: []execution.Child{{ID: "exec_1", State: execution.Running}}}
	require.Equal(t, "done when its child has ended", standing(parent, child))
	parent.Children[0].State = execution.Completed
	require.Equal(t, "its child has ended, and its result is taken with the next step", standing(parent, child))
}

func TestOneIsNotMany(t *testing.T) {
	t.Parallel()
	require.Equal(t, "0 tool calls", many(0, "tool call"))
	require.Equal(t, "1 tool call", many(int64(1), "tool call"))
	require.Equal(t, "1\u202f000 tool calls", many(1000, "tool call"))
}

// TestALineOfAListHoldsTheBeginningOfATextAlone: an answer may be as long as it likes, and may not turn what stands around it.
func TestALineOfAListHoldsTheBeginningOfATextAlone(t *testing.T) {
	t.Parallel()
	require.Equal(t, "short", brief("short"))
	require.Equal(t, strings.Repeat("å", inRow), brief(strings.Repeat("å", inRow)))
	require.Equal(t, strings.Repeat("å", inRow)+"…", brief(strings.Repeat("å", 1_000_000)))
	require.Equal(t, `a \u202ec\u202c`, brief("a \u202ec\u202c"))
	require.Equal(t, `\u2066a`, cut("\u2066a").Text)
}

func TestWhatIsWaitedForIsSaidInWords(t *testing.T) {
	t.Parallel()
	require.Equal(t, "its turn in the conversation", waits(&execution.Wait{Kind: execution.WaitSchedule}))
	require.Equal(t, "its start, 1970-01-01 00:00:01 UTC", waits(&execution.Wait{Kind: execution.WaitSchedule, UntilMs: 1000}))
	require.Equal(t, "retry, until 1970-01-01 00:00:01 UTC", waits(&execution.Wait{Kind: execution.WaitRetry, UntilMs: 1000}))
	require.Equal(t, "child", waits(&execution.Wait{Kind: execution.WaitChild}))
}
