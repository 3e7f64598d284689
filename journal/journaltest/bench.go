package journaltest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// ttl is the length of the claims that clauses take.
const ttl = 15 * time.Second

// bench is a store under test with its clock and what clauses do all the time.
type bench struct {
	Harness
	t     *testing.T
	clock *Clock
	cfg   journal.Config
	count int
	drop  func()
}

// newBench opens a store without a sweep lock. Clauses that need other settings give change.
func newBench(t *testing.T, open Open, change func(*journal.Config)) *bench {
	t.Helper()
	b := &bench{t: t, clock: NewClock()}
	b.cfg = journal.Config{SweepLock: -1, Now: b.clock.Now}
	if change != nil {
		change(&b.cfg)
	}
	b.Harness = open(t, b.cfg)
	b.drop = b.DropReply
	if b.drop == nil {
		b.Store, b.drop = Dropping(b.Store)
	}
	full, err := b.cfg.WithDefaults()
	require.NoError(t, err)
	b.cfg = full
	return b
}

// ctx bounds every call of a clause.
func (b *bench) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	b.t.Cleanup(cancel)
	return ctx
}

// caller is who submits in clauses.
func caller() execution.CallerScope { return execution.LocalCaller() }

const thePartition execution.Partition = 7

// number gives numbers that are the same in every run of a clause.
func (b *bench) number() int {
	b.count++
	return b.count
}

func testID(p execution.Partition, n int) execution.ID {
	return execution.DerivedID(p, caller(), fmt.Sprint("execution ", n))
}

func testConversation(p execution.Partition, n int) execution.ConversationID {
	return execution.DerivedConversationID(p, caller(), fmt.Sprint("conversation ", n))
}

// submission is a new execution in a conversation of its own.
func (b *bench) submission(change ...func(*journal.NewExecution)) journal.NewExecution {
	n := b.number()
	e := journal.NewExecution{
		ID: testID(thePartition, n), ConversationID: testConversation(thePartition, n), Caller: caller(),
		Fingerprint: fmt.Sprint("print ", n), Definition: "abc", Checkpoint: []byte("checkpoint 0"), Node: "run_start",
		Messages: [][]byte{[]byte("hello")},
		Request: execution.CreateRequest{
			Agent: "demo", Input: execution.Input{Type: execution.UserMessage, Text: "hello"},
			Metadata: map[string]string{"order": "7"},
		},
	}
	for _, f := range change {
		f(&e)
	}
	return e
}

// actor is one execution and the hold that a worker has, or had, on it.
type actor struct {
	b       *bench
	id      execution.ID
	conv    execution.ConversationID
	caller  execution.CallerScope
	tasks   []execution.Task // of the last answer
	hold    journal.Hold     // the last one; its Operation is the last used
	claimed journal.Claimed
}

// reserve submits an execution.
func (b *bench) reserve(change ...func(*journal.NewExecution)) *actor {
	b.t.Helper()
	n := b.submission(change...)
	answer, err := b.Store.Reserve(b.ctx(), n)
	require.NoError(b.t, err)
	require.True(b.t, answer.Created)
	return &actor{
		b: b, id: n.ID, conv: n.ConversationID, caller: n.Caller, tasks: answer.Tasks,
		hold: journal.Hold{Execution: n.ID, Fence: "0-nobody"},
	}
}

// request is a claim request with a fresh nonce.
func (a *actor) request(change ...func(*journal.ClaimRequest)) journal.ClaimRequest {
	n := a.b.number()
	q := journal.ClaimRequest{
		Execution: a.id, Worker: journal.WorkerID(fmt.Sprint("worker", n)), Nonce: fmt.Sprint("nonce", n), TTL: ttl,
	}
	for _, f := range change {
		f(&q)
	}
	return q
}

// tryClaim claims and keeps the hold when it is granted.
func (a *actor) tryClaim(change ...func(*journal.ClaimRequest)) error {
	answer, err := a.b.Store.Claim(a.b.ctx(), a.request(change...))
	if err == nil {
		a.claimed = answer
		a.hold = journal.Hold{Execution: a.id, Fence: answer.Fence}
	}
	return err
}

// claim claims, which must be granted.
func (a *actor) claim(change ...func(*journal.ClaimRequest)) *actor {
	a.b.t.Helper()
	require.NoError(a.b.t, a.tryClaim(change...))
	return a
}

// next is the hold for the next numbered call.
func (a *actor) next() journal.Hold {
	a.hold.Operation++
	return a.hold
}

// row reads the row, which must be there.
func (a *actor) row() journal.Execution {
	a.b.t.Helper()
	row, err := a.b.Store.Get(a.b.ctx(), a.id)
	require.NoError(a.b.t, err)
	return row
}

// state is the row's state, journal.Gone when it is not there.
func (a *actor) state() execution.State {
	row, err := a.b.Store.Get(a.b.ctx(), a.id)
	if err != nil {
		require.ErrorIs(a.b.t, err, journal.ErrNotFound)
		return journal.Gone
	}
	return row.State
}

// types lists the types of all events.
func (a *actor) types() []execution.EventType {
	a.b.t.Helper()
	events, err := a.b.Store.Events(a.b.ctx(), a.id, 0, 1000)
	require.NoError(a.b.t, err)
	var types []execution.EventType
	for i, event := range events {
		require.EqualValues(a.b.t, i+1, event.Sequence, "sequences have no gap")
		types = append(types, event.Payload.EventType())
	}
	return types
}

// commitOf is a commit of the step at which the execution stands.
func (a *actor) commitOf(then journal.Then, change ...func(*journal.Commit)) journal.Commit {
	a.b.t.Helper()
	step := a.row().Step
	q := journal.Commit{
		Hold: a.hold, Step: step, Node: fmt.Sprint("node_", step+1),
		Checkpoint: fmt.Append(nil, "checkpoint ", step+1), Then: then,
	}
	for _, f := range change {
		f(&q)
	}
	return q
}

// commit commits, which must be accepted.
func (a *actor) commit(then journal.Then, change ...func(*journal.Commit)) journal.Committed {
	a.b.t.Helper()
	answer, err := a.b.Store.Commit(a.b.ctx(), a.commitOf(then, change...))
	require.NoError(a.b.t, err)
	a.tasks = answer.Tasks
	return answer
}

// release releases, which must be accepted.
func (a *actor) release(change ...func(*journal.Release)) journal.Committed {
	a.b.t.Helper()
	q := journal.Release{Hold: a.next()}
	for _, f := range change {
		f(&q)
	}
	answer, err := a.b.Store.Release(a.b.ctx(), q)
	require.NoError(a.b.t, err)
	a.tasks = answer.Tasks
	return answer
}

// entry is the execution's entry, made up from the index that holds it.
func (a *actor) entry() journal.Due {
	a.b.t.Helper()
	row := a.row()
	var found []journal.Due
	for name, members := range a.b.Indexes() {
		if at, ok := members[string(a.id)]; ok {
			found = append(found, journal.Due{
				Partition: a.id.Partition(), Member: string(a.id), Index: name, AtMs: at, NowMs: a.b.clock.Ms(),
				Task: execution.Task{Execution: a.id, Step: row.Step, Wake: row.Wake},
			})
		}
	}
	require.Len(a.b.t, found, 1, "the row is in exactly one index")
	return found[0]
}

// due lets the entry's time come and gives it as a sweep sees it.
func (a *actor) due() journal.Due {
	a.b.t.Helper()
	if wait := a.entry().AtMs - a.b.clock.Ms(); wait > 0 {
		a.b.clock.Advance(time.Duration(wait) * time.Millisecond)
	}
	found, err := a.b.Store.Sweep(a.b.ctx(), a.id.Partition(), 1000)
	require.NoError(a.b.t, err)
	for _, d := range found {
		if d.Member == string(a.id) {
			return d
		}
	}
	require.Fail(a.b.t, "the sweep does not find the entry")
	return journal.Due{}
}

// unchanged runs f and requires that it wrote nothing.
func (b *bench) unchanged(f func()) {
	b.t.Helper()
	before := b.Dump()
	f()
	require.Equal(b.t, before, b.Dump(), "nothing may change")
}
