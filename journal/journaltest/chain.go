package journaltest

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// chainClauses are about commits of many boundaries.
func chainClauses() []clause {
	small := func(c *journal.Config) { c.MaxEvents = 8 }
	return []clause{
		{name: "a chain of boundaries leaves what a kept commit of each would have left", run: chainLikeSingles},
		{name: "a chain is written as a whole or not at all", run: chainRefused},
		{name: "a chain that would fill the log is refused as a whole, one that ends too unless its end alone writes", run: chainFull, config: small},
		{name: "a chain is repeated by fence and last step", run: chainReplay},
		{name: "a recorded cancel or pause takes effect behind the whole chain", run: chainSteered},
		{name: "a chain that contradicts itself is refused", run: chainInvalid},
	}
}

// links are the boundaries of a chain that goes over n steps, as a worker would commit them one by one: a batch is planned,
// planned anew, answered, and forgotten.
func links(first execution.Step, n int) []journal.Commit {
	all := make([]journal.Commit, n)
	for i := range all {
		step := first + execution.Step(i)
		all[i] = journal.Commit{
			Step: step, Node: fmt.Sprint("node_", step+1), Checkpoint: fmt.Append(nil, "checkpoint ", step+1),
			Messages: [][]byte{fmt.Append(nil, "message ", step)}, Usage: execution.Usage{Requests: int64(step)},
			Events: []execution.Payload{warning(fmt.Sprint("w", step))}, ReadsHistory: i%2 == 0, Then: goOn(), Keep: ttl,
			Plan:  []journal.Plan{{CallID: theCall, Intent: fmt.Appendf(nil, `{"intent":%d}`, step)}},
			Batch: []execution.CallID{theCall},
		}
	}
	all[n/2].Messages, all[n/2].Events = nil, nil
	return all
}

// chained joins commits to one.
func chained(hold journal.Hold, all []journal.Commit) journal.Commit {
	q := all[len(all)-1]
	q.Hold, q.Step = hold, all[0].Step
	for _, c := range all[:len(all)-1] {
		q.Earlier = append(q.Earlier, journal.Boundary{
			Checkpoint: c.Checkpoint, Messages: c.Messages, Plan: c.Plan, Events: c.Events, Consumed: c.Consumed,
		})
	}
	return q
}

// chain commits the links at once, which must be accepted.
func (a *actor) chain(all []journal.Commit) journal.Committed {
	a.b.t.Helper()
	answer, err := a.b.Store.Commit(a.b.ctx(), chained(a.hold, all))
	require.NoError(a.b.t, err)
	a.tasks = answer.Tasks
	return answer
}

// remains is all that the store tells about an execution, without the names that are its own.
func (a *actor) remains() string {
	t, ctx, store := a.b.t, a.b.ctx(), a.b.Store
	t.Helper()
	row := a.row()
	row.ID, row.ConversationID = "", ""
	if row.Claim != nil {
		row.Claim.Worker, row.Claim.Fence = "", ""
	}
	events, err := store.Events(ctx, a.id, 0, 1000)
	require.NoError(t, err)
	checkpoints, err := store.Checkpoints(ctx, a.id, 0, 1000)
	require.NoError(t, err)
	messages, err := store.Messages(ctx, a.id, 0, 1000)
	require.NoError(t, err)
	for i := range messages {
		messages[i] = bytes.ReplaceAll(messages[i], []byte(a.id), []byte("its id"))
	}
	ledger, err := store.Ledger(ctx, a.id, []execution.CallID{theCall})
	require.NoError(t, err)
	entry := a.entry()
	return canonical(t, []any{rowText(t, row), events, checkpoints, messages, ledger, entry.Index, entry.AtMs})
}

// sayings are answers without the names of the execution.
func sayings(t *testing.T, answer journal.Committed) string {
	for i := range answer.Tasks {
		answer.Tasks[i].Execution = ""
	}
	return canonical(t, answer)
}

func chainLikeSingles(t *testing.T, b *bench) {
	for name, end := range map[string]func(last *journal.Commit){
		"keeps its claim": func(*journal.Commit) {},
		"goes on":         func(q *journal.Commit) { q.Keep = 0 },
		"plans nothing":   func(q *journal.Commit) { q.Plan, q.Batch = nil, nil },
		"asks":            func(q *journal.Commit) { q.Then, q.Keep = ask(), 0 },
		"waits":           func(q *journal.Commit) { q.Then, q.Keep = waitFor(time.Minute), 0 },
		"suspends":        func(q *journal.Commit) { q.Then = journal.Then{Kind: journal.ThenSuspend, Suspension: policy()} },
		"completes":       func(q *journal.Commit) { q.Then = completeWith("done") },
		"fails":           func(q *journal.Commit) { q.Then = failWith("model_error") },
	} {
		for _, n := range []int{2, 3, 8} {
			one, other := b.planned(), b.planned()
			all := links(1, n)
			end(&all[n-1])
			var last journal.Committed
			for _, q := range all {
				q.Hold = one.hold
				var err error
				last, err = b.Store.Commit(b.ctx(), q)
				require.NoError(t, err)
			}
			require.Equal(t, sayings(t, last), sayings(t, other.chain(all)), "%s, %d", name, n)
			require.Equal(t, one.remains(), other.remains(), "%s, %d", name, n)
			require.EqualValues(t, n+1, other.row().Step)
		}
	}
	a := b.answered() // what an early boundary consumes is not waited for by a later one
	all := links(a.row().Step, 3)
	all[0].Consumed = []execution.RequestID{theRequest}
	all[2].Then, all[2].Keep = journal.Then{Kind: journal.ThenPark, WaitKind: execution.WaitChild, Await: awaited(theRequest)}, 0
	require.Empty(t, a.chain(all).Tasks)
	require.NotNil(t, a.row().Wait)
	require.Nil(t, a.row().PendingInteraction)
}

func chainRefused(t *testing.T, b *bench) {
	a := b.planned()
	stale := a.hold
	for _, step := range []execution.Step{0, 2, 99} {
		b.unchanged(func() {
			_, err := b.Store.Commit(b.ctx(), chained(a.hold, links(step, 3)))
			require.ErrorIs(t, err, journal.ErrConflict)
		})
	}
	a.runOut().claim()
	for range 2 {
		b.unchanged(func() {
			_, err := b.Store.Commit(b.ctx(), chained(stale, links(1, 3)))
			require.ErrorIs(t, err, journal.ErrFenced)
		})
	}
	a.chain(links(1, 3))
	require.EqualValues(t, 4, a.row().Step)
	require.Zero(t, a.row().Reclaims)
	ended := b.arrange(execution.Completed)
	b.unchanged(func() {
		_, err := b.Store.Commit(b.ctx(), chained(ended.hold, links(ended.row().Step, 2)))
		require.ErrorIs(t, err, journal.ErrFenced)
	})
}

func chainFull(t *testing.T, b *bench) {
	a := b.planned() // two events of eight, the last place is the end's
	over := links(1, 8)
	require.Len(t, over, 8)
	refused := func(all []journal.Commit) {
		b.unchanged(func() {
			_, err := b.Store.Commit(b.ctx(), chained(a.hold, all))
			require.ErrorIs(t, err, journal.ErrLimit)
		})
	}
	refused(over)
	over[7].Then = completeWith("done")
	refused(over) // its earlier boundaries alone are too many
	a.chain(over[:6])
	require.Len(t, a.types(), 7)
	rest := over[6:]
	refused(rest)
	rest[0].Events = nil
	a.chain(rest)
	require.Equal(t, execution.Completed, a.state())
	a = b.planned()
	a.cancel()
	a.chain(links(1, 8)) // what was paid for is kept
	require.Equal(t, execution.Canceled, a.state())
	require.EqualValues(t, 9, a.row().Step)
}

func chainReplay(t *testing.T, b *bench) {
	a := b.reserve().claim()
	q := chained(a.hold, links(0, 4))
	b.drop()
	_, err := b.Store.Commit(b.ctx(), q)
	require.ErrorIs(t, err, journal.ErrUnavailable)
	want := journal.Committed{Step: 4, State: execution.Running, Sequence: a.row().LastSequence, Kept: true, Replayed: true}
	again := func() {
		b.unchanged(func() {
			answer, err := b.Store.Commit(b.ctx(), q)
			require.NoError(t, err)
			require.Equal(t, canonical(t, want), canonical(t, answer))
		})
	}
	again()
	a.runOut().claim()
	again()
	a.commit(goOn())
	b.unchanged(func() {
		_, err := b.Store.Commit(b.ctx(), q)
		require.ErrorIs(t, err, journal.ErrFenced, "only the last commit is remembered")
	})
}

func chainSteered(t *testing.T, b *bench) {
	for _, then := range []journal.Then{goOn(), ask(), completeWith("done"), waitFor(time.Second)} {
		a := b.planned()
		require.True(t, a.cancel().Pending)
		all := links(1, 3)
		all[2].Then, all[2].Keep = then, 0
		answer := a.chain(all)
		require.Equal(t, execution.Canceled, answer.State)
		require.Empty(t, answer.Tasks)
		require.EqualValues(t, 4, a.row().Step)
		require.Equal(t, []execution.EventType{
			execution.TypeExecutionQueued, execution.TypeExecutionStarted, execution.TypeCancelRequested,
			execution.TypeWarning, execution.TypeWarning, execution.TypeExecutionCanceled,
		}, a.types())
		messages, err := b.Store.Messages(b.ctx(), a.id, 1, 10)
		require.NoError(t, err)
		require.Equal(t, [][]byte{
			[]byte("message 1"), []byte("message 3"), []byte(a.answered(theCall, `,"intent":{"intent":3}`)),
		}, messages, "and what the last one planned is answered")
	}
	a := b.planned()
	require.True(t, a.pause().Pending)
	answer := a.chain(links(1, 3))
	require.Equal(t, execution.Suspended, answer.State)
	require.False(t, answer.Kept)
	require.EqualValues(t, 4, a.row().Step)
	require.Len(t, a.resume().Tasks, 1)
}

func chainInvalid(t *testing.T, b *bench) {
	a := b.planned()
	foreign := links(1, 3)
	foreign[0].Events = []execution.Payload{execution.ExecutionResumed{}}
	for _, all := range [][]journal.Commit{foreign, links(1, journal.MaxEarlier+2)} {
		b.unchanged(func() {
			_, err := b.Store.Commit(b.ctx(), chained(a.hold, all))
			require.ErrorIs(t, err, journal.ErrConflict)
		})
	}
	a.chain(links(1, journal.MaxEarlier+1))
	require.EqualValues(t, journal.MaxEarlier+2, a.row().Step)
}
