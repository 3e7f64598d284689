package redisjournal

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func TestAnExecutionRunsFromReserveToItsEnd(t *testing.T) {
	t.Parallel()
	w := open(t)
	id := w.reserve()
	first := w.claim(id, "n1")
	require.Equal(t, journal.Fence("1-n1"), first.Fence)
	answer := w.commit(first, journal.Then{Kind: journal.ThenContinue})
	require.Equal(t, []execution.Task{{Execution: id, Step: 1, Wake: 2, Queue: "default"}}, answer.Tasks)
	second := w.claim(id, "n2")
	end := w.commit(second, journal.Then{Kind: journal.ThenEnd, Outcome: &execution.Outcome{Answer: "done"}})
	require.Equal(t, execution.Completed, end.State)
	require.Equal(t, []execution.EventType{
		execution.TypeExecutionQueued, execution.TypeExecutionStarted, execution.TypeExecutionCompleted,
	}, w.types(id))
	require.Equal(t, "done", w.get(id).Outcome.Answer)
}
