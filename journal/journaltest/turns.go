package journaltest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// turnClauses say what a submission does to a busy conversation when it does not wait its turn.
func turnClauses() []clause {
	line := func(c *journal.Config) { c.MaxWaiting = 1 }
	return []clause{
		{name: "an interrupt takes the turn at once from an execution that nobody holds, in every state", run: interruptIdle},
		{name: "an interrupt asks a holder to cancel, and follows it", run: interruptHeld},
		{name: "what an interrupted execution said stays in the history", run: interruptKeeps},
		{name: "an interrupt goes before those that wait, which stay", run: interruptLine},
		{name: "a later interrupt takes the place of an earlier one, and keeps what that was told", run: interruptTwice},
		{name: "a rollback goes on from before the execution that it cancels", run: rollback},
		{name: "a rollback that waits takes back what its holder still writes", run: rollbackHeld},
		{name: "an execution that was rolled back keeps its history to itself", run: rollbackView},
		{name: "rollbacks in turn leave one part of the history", run: rollbackAgain},
		{name: "of an interrupt and a rollback in turn each acts on the one before it", run: rollbackAndInterrupt},
		{name: "an interrupt of what is about to end waits for it", run: interruptFinalizing},
		{name: "an interrupt that is repeated with its key interrupts once", run: interruptReplayed},
		{name: "an interrupt that is canceled while it waits leaves no trace", run: interruptWithdrawn},
		{name: "those that interrupt do not count as waiting", run: interruptUncounted, config: line},
	}
}

// take submits to the conversation of a.
func (a *actor) take(busy execution.OnBusy, message string, change ...func(*journal.NewExecution)) *actor {
	a.b.t.Helper()
	return a.b.reserve(append([]func(*journal.NewExecution){func(n *journal.NewExecution) {
		at(a.id.Partition())(n)
		n.ConversationID, n.Request.OnBusy, n.Caller = a.conv, busy, a.caller
		n.Messages = [][]byte{[]byte(message)}
	}}, change...)...)
}

// says commits a message.
func (a *actor) says(text string) *actor {
	a.b.t.Helper()
	a.commit(goOn(), func(q *journal.Commit) { q.Messages = [][]byte{[]byte(text)} })
	return a
}

// hears requires that the execution's history is just that, for readers and for a claim, whatever is known of it already.
func (a *actor) hears(want ...string) {
	a.b.t.Helper()
	texts := func(messages [][]byte) []string {
		var out []string
		for _, message := range messages {
			out = append(out, string(message))
		}
		return out
	}
	for from := range len(want) + 1 {
		messages, err := a.b.Store.Messages(a.b.ctx(), a.id, from, 100)
		require.NoError(a.b.t, err)
		require.Equal(a.b.t, append([]string(nil), want[from:]...), texts(messages), "from %d", from)
	}
	for from := range want {
		messages, err := a.b.Store.Messages(a.b.ctx(), a.id, from, 1)
		require.NoError(a.b.t, err)
		require.Equal(a.b.t, want[from:from+1], texts(messages), "the one at %d", from)
	}
	if row := a.row(); row.Claim != nil || !row.Active || row.State != execution.Queued && row.State != execution.Running {
		return
	}
	for known := range len(want) + 1 {
		a.claim(func(q *journal.ClaimRequest) { q.History, q.KnownMessages = true, known })
		require.Equal(a.b.t, append([]string(nil), want[known:]...), texts(a.claimed.Messages), "known %d", known)
		require.Equal(a.b.t, len(want), a.claimed.HistoryLength)
		a.release()
	}
}

func interruptIdle(t *testing.T, b *bench) {
	for _, busy := range []execution.OnBusy{execution.BusyInterrupt, execution.BusyRollback} {
		for _, state := range []execution.State{
			execution.Queued, execution.Running, execution.WaitingForInput, execution.Suspended,
		} {
			a := b.arrange(state)
			version := a.row().Version
			next := a.take(busy, "again")
			require.Equal(t, execution.Canceled, a.state(), "%s %s", busy, state)
			require.Equal(t, version+1, a.row().Version)
			require.Equal(t, execution.TypeExecutionCanceled, a.types()[len(a.types())-1])
			row := next.row()
			require.True(t, row.Active)
			require.Nil(t, row.Wait)
			require.EqualValues(t, 1, row.Version)
			require.Equal(t, []execution.Task{{Execution: next.id, Wake: 1, Queue: "default-new"}}, next.tasks)
			require.Equal(t, b.clock.Ms()+b.cfg.HandoffGrace.Milliseconds(), next.entry().AtMs, "the usual grace")
			next.claim().commit(completeWith("done"))
		}
	}
	a := b.reserve().claim()
	a.runOut() // its holder is gone: nobody has to be asked
	next := a.take(execution.BusyInterrupt, "again")
	require.Equal(t, execution.Canceled, a.state())
	require.True(t, next.row().Active)
	_, err := b.Store.Commit(b.ctx(), a.commitOf(goOn()))
	require.ErrorIs(t, err, journal.ErrFenced)
}

func interruptHeld(t *testing.T, b *bench) {
	a := b.reserve().claim()
	next := a.take(execution.BusyInterrupt, "again")
	row := a.row()
	require.Equal(t, execution.Running, row.State)
	require.True(t, row.CancelRequested)
	require.Equal(t, execution.TypeCancelRequested, a.types()[len(a.types())-1])
	renewed, err := b.Store.Renew(b.ctx(), a.next(), ttl)
	require.NoError(t, err)
	require.True(t, renewed.CancelRequested)
	require.Empty(t, next.tasks)
	require.False(t, next.row().Active)
	require.Equal(t, &execution.Wait{Kind: execution.WaitSchedule}, next.row().Wait)
	require.Equal(t, journal.ClaimTurn, refusal(t, next.tryClaim()).Reason)
	answer := a.release()
	require.Equal(t, execution.Canceled, answer.State)
	require.Len(t, answer.Tasks, 1)
	require.Equal(t, next.id, answer.Tasks[0].Execution)
	require.True(t, next.row().Active)

	next.claim()
	third := next.take(execution.BusyInterrupt, "and again")
	next.runOut() // the holder never answers
	require.Equal(t, journal.ClaimEnded, refusal(t, next.tryClaim()).Reason)
	require.True(t, third.row().Active)
	third.hears("hello", "again", "and again")
}

func interruptKeeps(t *testing.T, b *bench) {
	a := b.reserve().claim().says("thinking").claim()
	next := a.take(execution.BusyInterrupt, "stop")
	a.says("a last word")
	require.Equal(t, execution.Canceled, a.state())
	next.hears("hello", "thinking", "a last word", "stop")
	require.Equal(t, [2]int{3, 4}, [2]int{next.row().HistoryStart, next.row().HistoryEnd})
	require.Equal(t, [2]int{0, 3}, [2]int{a.row().HistoryStart, a.row().HistoryEnd})
}

func interruptLine(t *testing.T, b *bench) {
	a := b.reserve().claim()
	waits := a.follow()
	next := a.take(execution.BusyInterrupt, "stop")
	require.Equal(t, next.id, a.release().Tasks[0].Execution)
	require.Equal(t, execution.Queued, waits.state())
	again := next.take(execution.BusyInterrupt, "stop again")
	require.True(t, again.row().Active, "before the one that waits")
	require.Equal(t, waits.id, again.claim().commit(completeWith("done")).Tasks[0].Execution)
	waits.hears("hello", "stop", "stop again", "again")
}

func interruptTwice(t *testing.T, b *bench) {
	a := b.reserve().claim()
	events := len(a.types())
	var earlier []*actor
	var last *actor
	said := []string{"hello"}
	for n := range 4 {
		last = a.take(execution.BusyInterrupt, fmt.Sprint("stop ", n))
		said = append(said, fmt.Sprint("stop ", n))
		for _, other := range earlier {
			require.Equal(t, execution.Canceled, other.state())
			require.Equal(t, []execution.EventType{execution.TypeExecutionQueued, execution.TypeExecutionCanceled}, other.types())
		}
		earlier = append(earlier, last)
	}
	require.Len(t, a.types(), events+1, "the holder is asked once")
	require.Equal(t, last.id, a.release().Tasks[0].Execution)
	last.hears(said...)
	require.Equal(t, [2]int{4, 5}, [2]int{last.row().HistoryStart, last.row().HistoryEnd})

	last.claim()
	first := last.take(execution.BusyInterrupt, "one")
	second := last.take(execution.BusyInterrupt, "two")
	last.runOut()
	third := last.take(execution.BusyInterrupt, "three")
	require.Equal(t, execution.Canceled, first.state())
	require.Equal(t, execution.Canceled, second.state())
	require.Equal(t, execution.Canceled, last.state())
	require.True(t, third.row().Active)
	third.hears(append(said, "one", "two", "three")...)
}

func rollback(t *testing.T, b *bench) {
	a := b.reserve().claim()
	a.commit(completeWith("done"), func(q *journal.Commit) { q.Messages = [][]byte{[]byte("answer")} })
	second := a.take(execution.BusyReject, "second").claim().says("thinking")
	usage := second.row().Usage
	third := second.take(execution.BusyRollback, "third")
	require.Equal(t, execution.Canceled, second.state())
	require.Equal(t, usage, second.row().Usage)
	third.hears("hello", "answer", "third")
	require.Equal(t, [2]int{2, 3}, [2]int{third.row().HistoryStart, third.row().HistoryEnd})
	third.claim().commit(completeWith("done"), func(q *journal.Commit) { q.Messages = [][]byte{[]byte("answer 3")} })
	fourth := third.take(execution.BusyReject, "fourth")
	fourth.hears("hello", "answer", "third", "answer 3", "fourth")
	require.Equal(t, [2]int{4, 5}, [2]int{fourth.row().HistoryStart, fourth.row().HistoryEnd})

	first := b.reserve()
	only := first.take(execution.BusyRollback, "only")
	only.hears("only")
}

func rollbackHeld(t *testing.T, b *bench) {
	a := b.reserve().claim()
	a.commit(completeWith("done"))
	second := a.take(execution.BusyReject, "second").claim().says("thinking").claim()
	third := second.take(execution.BusyRollback, "third")
	third.hears("hello", "second", "thinking")
	second.says("a last word")
	third.hears("hello", "third")
	second.hears("hello", "second", "thinking", "a last word")
}

func rollbackView(t *testing.T, b *bench) {
	a := b.reserve().claim().says("thinking")
	second := a.take(execution.BusyRollback, "second")
	third := second.take(execution.BusyInterrupt, "third")
	fourth := third.take(execution.BusyRollback, "fourth").claim().says("thinking 4")
	fifth := fourth.take(execution.BusyRollback, "fifth")
	sixth := fifth.take(execution.BusyInterrupt, "sixth")
	seventh := sixth.take(execution.BusyRollback, "seventh")
	a.hears("hello", "thinking")
	third.hears("second", "third")
	fourth.hears("second", "fourth", "thinking 4")
	sixth.hears("second", "fifth", "sixth")
	seventh.hears("second", "fifth", "seventh")
	seventh.claim().says("answer")
	seventh.hears("second", "fifth", "seventh", "answer")
	fourth.hears("second", "fourth", "thinking 4")
}

func rollbackAgain(t *testing.T, b *bench) {
	a := b.reserve().claim()
	a.commit(completeWith("done"))
	next := a.take(execution.BusyReject, "0")
	for n := range 5 {
		next = next.take(execution.BusyRollback, fmt.Sprint(n+1))
		next.hears("hello", fmt.Sprint(n+1))
	}
}

// rollbackAndInterrupt: what becomes of the history does not depend on how soon a holder lets go.
func rollbackAndInterrupt(t *testing.T, b *bench) {
	for _, held := range []bool{false, true} {
		for _, c := range []struct {
			busy []execution.OnBusy
			want []string
		}{
			{[]execution.OnBusy{execution.BusyRollback, execution.BusyInterrupt}, []string{"first", "B", "C"}},
			{[]execution.OnBusy{execution.BusyInterrupt, execution.BusyRollback}, []string{"first", "A", "C"}},
			{[]execution.OnBusy{execution.BusyRollback, execution.BusyRollback}, []string{"first", "C"}},
			{[]execution.OnBusy{execution.BusyInterrupt, execution.BusyInterrupt}, []string{"first", "A", "B", "C"}},
		} {
			first := b.reserve(func(n *journal.NewExecution) { n.Messages = [][]byte{[]byte("first")} }).claim()
			first.commit(completeWith("done"))
			a := first.take(execution.BusyReject, "A")
			if held {
				a.claim()
			}
			second := a.take(c.busy[0], "B")
			third := a.take(c.busy[1], "C")
			require.Equal(t, execution.Canceled, second.state())
			if held {
				a.release()
			}
			require.True(t, third.row().Active)
			third.hears(c.want...)
		}
	}
}

func interruptFinalizing(t *testing.T, b *bench) {
	a := b.arrange(execution.Finalizing)
	types := a.types()
	next := a.take(execution.BusyRollback, "again")
	require.Equal(t, execution.Finalizing, a.state())
	require.Equal(t, types, a.types())
	_, err := b.Store.CompleteDelegationCleanup(b.ctx(), a.id, theLease)
	require.NoError(t, err)
	require.Equal(t, execution.Completed, a.state())
	next.hears("again")
}

func interruptReplayed(t *testing.T, b *bench) {
	a := b.reserve()
	n := b.submission(keyed, func(n *journal.NewExecution) {
		n.ConversationID, n.Request.OnBusy = a.conv, execution.BusyInterrupt
	})
	_, err := b.Store.Reserve(b.ctx(), n)
	require.NoError(t, err)
	last := a.take(execution.BusyInterrupt, "a later one").claim()
	b.unchanged(func() {
		answer, err := b.Store.Reserve(b.ctx(), n)
		require.NoError(t, err)
		require.False(t, answer.Created)
		require.Equal(t, execution.Canceled, answer.Execution.State)
	})
	require.False(t, last.row().CancelRequested)
}

func interruptWithdrawn(t *testing.T, b *bench) {
	a := b.reserve().claim()
	waits := a.follow()
	next := a.take(execution.BusyRollback, "never said")
	next.cancel()
	require.Equal(t, waits.id, a.release().Tasks[0].Execution)
	waits.hears("hello", "again")
}

func interruptUncounted(t *testing.T, b *bench) {
	a := b.reserve().claim()
	a.take(execution.BusyInterrupt, "stop")
	a.follow()
	b.unchanged(func() {
		_, err := b.Store.Reserve(b.ctx(), b.submission(func(n *journal.NewExecution) {
			n.ConversationID, n.Request.OnBusy = a.conv, execution.BusyEnqueue
		}))
		require.ErrorIs(t, err, journal.ErrLimit)
	})
	a.take(execution.BusyInterrupt, "stop again")
}
