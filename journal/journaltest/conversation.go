package journaltest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func conversationClauses() []clause {
	line := func(c *journal.Config) { c.MaxWaiting = 2 }
	return []clause{
		{name: "a busy conversation refuses, and nothing is stored", run: busy},
		{name: "a suspended execution keeps its conversation busy", run: busySuspended},
		{name: "executions wait for their turn, in order, and their messages with them", run: turns},
		{name: "case I5: every way to end gives the turn to the next", run: turnOnEveryEnd},
		{name: "an execution canceled while it waits leaves the line and no message", run: cancelInLine},
		{name: "an execution paused while it waits gets its turn and stays suspended", run: pauseInLine},
		{name: "a waiting line is bounded", run: lineBounded, config: line},
		{name: "the next execution of a conversation sees its whole history", run: history},
		{name: "a start time in the future holds although the turn has come", run: turnScheduled},
	}
}

// follow is another execution of the conversation; it waits for its turn.
func (a *actor) follow(change ...func(*journal.NewExecution)) *actor {
	a.b.t.Helper()
	return a.b.reserve(append([]func(*journal.NewExecution){func(n *journal.NewExecution) {
		n.ConversationID, n.Request.OnBusy = a.conv, execution.BusyEnqueue
		n.Messages = [][]byte{[]byte("again")}
	}}, change...)...)
}

func busy(t *testing.T, b *bench) {
	a := b.reserve()
	b.unchanged(func() {
		_, err := b.Store.Reserve(b.ctx(), b.submission(keyed, func(n *journal.NewExecution) { n.ConversationID = a.conv }))
		require.ErrorIs(t, err, journal.ErrConversationBusy)
		require.ErrorIs(t, err, journal.ErrConflict)
	})
	a.cancel()
	b.reserve(keyed, func(n *journal.NewExecution) { n.ConversationID = a.conv })
}

func busySuspended(t *testing.T, b *bench) {
	a := b.arrange(execution.Suspended)
	_, err := b.Store.Reserve(b.ctx(), b.submission(func(n *journal.NewExecution) { n.ConversationID = a.conv }))
	require.ErrorIs(t, err, journal.ErrConversationBusy)
}

func turns(t *testing.T, b *bench) {
	a := b.reserve()
	second, third := a.follow(), a.follow()
	require.Empty(t, second.tasks)
	row := second.row()
	require.False(t, row.Active)
	require.Equal(t, &execution.Wait{Kind: execution.WaitSchedule}, row.Wait)
	require.Equal(t, b.clock.Ms()+b.cfg.LookAgain.Milliseconds(), second.entry().AtMs)
	b.unchanged(func() { require.Equal(t, journal.ClaimTurn, refusal(t, second.tryClaim()).Reason) })
	messages, err := b.Store.Messages(b.ctx(), second.id, 0, 10)
	require.NoError(t, err)
	require.Len(t, messages, 1, "only the active one's")

	a.cancel()
	require.Equal(t, []execution.Task{{Execution: second.id, Wake: 1, Queue: "default-new"}}, a.tasks)
	after := second.row()
	require.True(t, after.Active)
	require.Nil(t, after.Wait)
	require.Equal(t, row.Version+1, after.Version)
	entry := second.entry()
	require.Equal(t, "handoff", entry.Index)
	require.Equal(t, b.clock.Ms(), entry.AtMs, "now, in case whoever ended the other one crashed")
	require.False(t, third.row().Active)
	messages, err = b.Store.Messages(b.ctx(), third.id, 0, 10)
	require.NoError(t, err)
	require.Equal(t, [][]byte{[]byte("hello"), []byte("again")}, messages)
	answer := second.claim().commit(completeWith("done"))
	require.Equal(t, third.id, answer.Tasks[0].Execution)
	require.Len(t, third.claim().commit(completeWith("done")).Tasks, 0)
}

func turnOnEveryEnd(t *testing.T, b *bench) {
	ways := map[string]func(a *actor) []execution.Task{
		"commit": func(a *actor) []execution.Task { return a.claim().commit(failWith("c")).Tasks },
		"finish": func(a *actor) []execution.Task {
			answer, err := b.Store.Finish(b.ctx(), a.claim().next(), anyState, completed())
			require.NoError(t, err)
			return answer.Tasks
		},
		"cancel":         func(a *actor) []execution.Task { return a.cancel().Tasks },
		"cancel, commit": func(a *actor) []execution.Task { a.claim().cancel(); return a.commit(goOn()).Tasks },
		"cancel, release": func(a *actor) []execution.Task {
			a.claim().cancel()
			return a.release().Tasks
		},
		"cancel, claim": func(a *actor) []execution.Task {
			a.claim().cancel()
			a.runOut()
			return refusal(t, a.tryClaim()).Tasks
		},
		"cancel, requeue": func(a *actor) []execution.Task { a.claim().cancel(); return a.requeue().Tasks },
		"expiry": func(a *actor) []execution.Task {
			a.pause()
			answer, err := b.Store.Expire(b.ctx(), a.due())
			require.NoError(t, err)
			return answer.Tasks
		},
	}
	for name, end := range ways {
		a := b.reserve()
		next := a.follow()
		tasks := end(a)
		require.True(t, a.state().Terminal(), name)
		require.Len(t, tasks, 1, name)
		require.Equal(t, next.id, tasks[0].Execution, name)
		require.True(t, next.row().Active, name)
		next.cancel()
	}
	a := b.arrange(execution.Finalizing)
	next := a.follow()
	_, err := b.Store.CompleteDelegationCleanup(b.ctx(), a.id, theLease)
	require.NoError(t, err)
	require.Equal(t, journal.ActStanding, next.due().Action, "this answer has no tasks: the reaper sees to it")
}

func cancelInLine(t *testing.T, b *bench) {
	a := b.reserve()
	second, third := a.follow(), a.follow()
	require.Empty(t, second.cancel().Tasks)
	require.Equal(t, third.id, a.cancel().Tasks[0].Execution)
	messages, err := b.Store.Messages(b.ctx(), third.id, 0, 10)
	require.NoError(t, err)
	require.Len(t, messages, 2)
}

func pauseInLine(t *testing.T, b *bench) {
	a := b.reserve()
	second := a.follow()
	second.pause()
	require.Empty(t, a.cancel().Tasks)
	require.True(t, second.row().Active)
	require.Equal(t, execution.Suspended, second.state())
	require.Len(t, second.resume().Tasks, 1)
	third := second.follow()
	third.pause()
	require.Empty(t, third.resume().Tasks, "its turn has not come")
	require.Equal(t, execution.Queued, third.state())
	require.Equal(t, journal.ClaimTurn, refusal(t, third.tryClaim()).Reason)
}

func lineBounded(t *testing.T, b *bench) {
	a := b.reserve()
	a.follow()
	a.follow()
	b.unchanged(func() {
		_, err := b.Store.Reserve(b.ctx(), b.submission(func(n *journal.NewExecution) {
			n.ConversationID, n.Request.OnBusy = a.conv, execution.BusyEnqueue
		}))
		require.ErrorIs(t, err, journal.ErrLimit)
	})
}

func history(t *testing.T, b *bench) {
	a := b.reserve().claim()
	a.commit(completeWith("done"), func(q *journal.Commit) { q.Messages = [][]byte{[]byte("answer")} })
	second := a.follow().claim()
	second.commit(goOn(), func(q *journal.Commit) { q.ReadsHistory = true })
	second.claim()
	require.Equal(t, [][]byte{[]byte("hello"), []byte("answer"), []byte("again")}, second.claimed.Messages)
	for from, want := range []int{3, 2, 1, 0, 0} {
		messages, err := b.Store.Messages(b.ctx(), second.id, from, 10)
		require.NoError(t, err)
		require.Len(t, messages, want)
	}
	messages, err := b.Store.Messages(b.ctx(), second.id, 1, 1)
	require.NoError(t, err)
	require.Equal(t, [][]byte{[]byte("answer")}, messages)
	for want, e := range map[[2]int]*actor{{0, 2}: a, {2, 3}: second} {
		require.Equal(t, want, [2]int{e.row().HistoryStart, e.row().HistoryEnd}, "each knows its own part")
	}
}

func turnScheduled(t *testing.T, b *bench) {
	a := b.reserve()
	at := b.clock.Ms() + 60_000
	second := a.follow(func(n *journal.NewExecution) { n.Request.StartAtMs = at })
	require.Empty(t, a.cancel().Tasks)
	require.True(t, second.row().Active)
	require.Equal(t, &execution.Wait{Kind: execution.WaitSchedule, UntilMs: at}, second.row().Wait)
	require.Equal(t, at, second.entry().AtMs)
	require.Equal(t, journal.ActRequeue, second.due().Action)
	require.Len(t, second.requeue().Tasks, 1)
	second.claim()
}
