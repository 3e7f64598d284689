package journaltest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

const (
	treeLevels   = 3  // of children below a root
	treeChildren = 3  // of one execution
	treeNodes    = 14 // of a run
)

// Trees grows random trees of executions, with workers that die at any moment, a reaper that comes now and then, and operators
// that steer. Each child's end is delivered to an open parent exactly once; when the roots are canceled and no worker is left,
// nothing stays open for longer than a claim and a pass of the reaper for each level; and an audit finds nothing.
func Trees(t *testing.T, open Open) {
	t.Helper()
	rapid.Check(t, func(rt *rapid.T) {
		f := &forest{t: rt, clock: NewClock(), nodes: map[execution.ID]*treeNode{}}
		f.store = open(t, journal.Config{SweepLock: -1, Now: f.clock.Now}).Store
		f.root()
		for range rapid.IntRange(10, 80).Draw(rt, "operations") {
			f.step()
			f.look()
		}
		f.fell()
		if auditor, ok := f.store.(journal.Auditor); ok {
			_, err := auditor.Audit(bounded(rt), false, func(found journal.Finding) { rt.Fatalf("%+v", found) })
			require.NoError(rt, err)
		}
	})
}

// forest is one run.
type forest struct {
	t     *rapid.T
	store journal.Store
	clock *Clock
	nodes map[execution.ID]*treeNode
	order []execution.ID
	count int
}

// treeNode is an execution as the run knows it. Holds are those of workers that believe to have it, the dead ones left out.
type treeNode struct {
	id       execution.ID
	parent   *treeNode
	call     execution.CallID
	depth    int
	hold     *journal.Hold
	step     execution.Step
	state    execution.State
	children int
	due      map[execution.RequestID]bool // results of children that ended while it was open
	inbox    map[execution.RequestID]bool // as its last claim had it
	answers  []execution.RequestID        // of questions, there
	consumed map[execution.RequestID]bool
}

func (n *treeNode) open() bool { return !n.state.Terminal() }

func (f *forest) draw(n int, label string) int { return rapid.IntRange(0, n-1).Draw(f.t, label) }

func (f *forest) ctx() context.Context { return bounded(f.t) }

func (f *forest) add(id execution.ID, parent *treeNode, call execution.CallID) {
	n := &treeNode{
		id: id, parent: parent, call: call, state: execution.Queued, due: map[execution.RequestID]bool{},
		inbox: map[execution.RequestID]bool{}, consumed: map[execution.RequestID]bool{},
	}
	if parent != nil {
		n.depth = parent.depth + 1
		parent.children++
	}
	f.nodes[id], f.order = n, append(f.order, id)
}

func (f *forest) root() {
	f.count++
	id := testID(thePartition, f.count)
	_, err := f.store.Reserve(f.ctx(), journal.NewExecution{
		ID: id, ConversationID: testConversation(thePartition, f.count), Caller: caller(), Fingerprint: "f",
		Checkpoint: []byte("0"), Node: "run_start", Request: execution.CreateRequest{Agent: "root"},
	})
	require.NoError(f.t, err)
	f.add(id, nil, "")
}

// step does something to an execution: mostly what a worker does.
func (f *forest) step() {
	n := f.nodes[f.order[f.draw(len(f.order), "node")]]
	switch kind := f.draw(12, "kind"); {
	case kind == 0 && len(f.order) < treeNodes:
		f.root()
	case kind == 1:
		n.hold = nil // its worker dies
	case kind == 2:
		f.clock.Advance(rapid.SampledFrom([]time.Duration{time.Second, 6 * time.Second, ttl}).Draw(f.t, "time"))
		f.reap()
	case kind == 3:
		f.steer(n)
	case n.hold == nil:
		f.claim(n)
	default:
		f.work(n)
	}
}

func (f *forest) claim(n *treeNode) {
	f.count++
	claimed, err := f.store.Claim(f.ctx(), journal.ClaimRequest{
		Execution: n.id, Worker: "w", Nonce: fmt.Sprint("n", f.count), TTL: ttl, MaxReclaims: 3,
	})
	if err != nil {
		require.ErrorIs(f.t, err, journal.ErrConflict)
		return
	}
	n.hold, n.step = &journal.Hold{Execution: n.id, Fence: claimed.Fence}, claimed.Execution.Step
	clear(n.inbox)
	n.answers = nil
	for _, entry := range claimed.Inbox {
		if _, err := journal.DecodeChildResult(entry.Payload); err != nil {
			n.answers = append(n.answers, entry.RequestID)
			continue
		}
		require.False(f.t, n.consumed[entry.RequestID], "%s came twice", entry.RequestID)
		require.True(f.t, n.due[entry.RequestID], "%s came before the child's end", entry.RequestID)
		n.inbox[entry.RequestID] = true
	}
	for request := range n.due {
		require.True(f.t, n.inbox[request] || n.consumed[request], "%s got lost", request)
	}
}

// work is what a holder does, whether or not it still has the execution.
func (f *forest) work(n *treeNode) {
	kind := f.draw(9, "work")
	if kind < 3 && n.depth < treeLevels && n.children < treeChildren && len(f.order) < treeNodes {
		f.spawn(n)
		return
	}
	n.hold.Operation++
	var err error
	switch kind {
	case 7:
		_, err = f.store.Release(f.ctx(), journal.Release{Hold: *n.hold, Retry: &journal.Retry{Node: "n", Code: "c", After: time.Second}})
	case 8:
		suspension := policy()
		_, err = f.store.Release(f.ctx(), journal.Release{Hold: *n.hold, Suspension: &suspension})
	default:
		f.commit(n, kind)
		return
	}
	f.let(n, err)
}

// let ends a worker's hold; only a worker that was superseded is refused.
func (f *forest) let(n *treeNode, err error) {
	if err != nil {
		require.ErrorIs(f.t, err, journal.ErrFenced)
	}
	n.hold = nil
}

func (f *forest) spawn(n *treeNode) {
	call := callNamed(n.children)
	child := childOf(n.id, call)
	answer, err := f.store.Spawn(f.ctx(), journal.Spawn{Hold: *n.hold, Child: child})
	switch {
	case errors.Is(err, journal.ErrFenced):
		n.hold = nil
	case errors.Is(err, journal.ErrState): // a cancel is recorded
	default:
		require.NoError(f.t, err)
		require.True(f.t, answer.Created)
		f.add(child.ID, n, call)
	}
}

func (f *forest) commit(n *treeNode, kind int) {
	q := journal.Commit{Hold: *n.hold, Step: n.step, Node: "node", Checkpoint: []byte("c"), Then: goOn(), Consumed: n.answers}
	for request := range n.inbox {
		q.Consumed = append(q.Consumed, request)
	}
	switch kind {
	case 3, 4:
		q.Then = f.wait(n)
	case 5:
		q.Then = completeWith("done")
	case 6:
		i := question()
		i.RequestID = execution.RequestID(fmt.Sprint("ask", f.count))
		f.count++
		q.Then = journal.Then{Kind: journal.ThenPark, Interaction: &i}
	}
	_, err := f.store.Commit(f.ctx(), q)
	if err == nil {
		for _, request := range q.Consumed {
			n.consumed[request] = true
		}
	}
	f.let(n, err)
}

// wait is for those of its children whose results it has not used.
func (f *forest) wait(n *treeNode) journal.Then {
	var calls []execution.CallID
	for i := range n.children {
		request := execution.ChildRequest(callNamed(i))
		if !n.consumed[request] && !n.inbox[request] {
			calls = append(calls, callNamed(i))
		}
	}
	if len(calls) == 0 {
		return goOn()
	}
	then := awaitChildren(calls...)
	then.Wait = rapid.SampledFrom([]time.Duration{0, 0, 3 * time.Second}).Draw(f.t, "bound")
	return then
}

func (f *forest) steer(n *treeNode) {
	row, err := f.store.Get(f.ctx(), n.id)
	require.NoError(f.t, err)
	switch f.draw(5, "command") {
	case 0:
		_, err = f.store.Cancel(f.ctx(), n.id)
	case 1:
		_, err = f.store.Pause(f.ctx(), n.id)
	case 2, 3:
		_, err = f.store.Resume(f.ctx(), n.id, journal.Resumption{})
	default:
		if row.PendingInteraction != nil {
			f.count++
			_, err = f.store.CommitInteractionInput(f.ctx(), n.id, journal.InteractionInput{
				OperationID: execution.OperationID(fmt.Sprint("op", f.count)), RequestID: row.PendingInteraction.RequestID,
			})
		}
	}
	if err != nil {
		require.ErrorIs(f.t, err, journal.ErrConflict)
	}
}

// reap is a reaper's pass. No task is standing: workers find work by themselves here.
func (f *forest) reap() {
	found, err := f.store.Sweep(f.ctx(), thePartition, 1000)
	require.NoError(f.t, err)
	for _, due := range found {
		switch due.Action {
		case journal.ActRequeue, journal.ActStanding:
			_, err = f.store.Requeue(f.ctx(), due)
		case journal.ActExpire:
			_, err = f.store.Expire(f.ctx(), due)
		default:
			f.t.Fatalf("an unexpected action: %+v", due)
		}
		require.NoError(f.t, err)
	}
}

// look notes which executions have ended: an end is due to a parent that is open.
func (f *forest) look() {
	for _, id := range f.order {
		n := f.nodes[id]
		row, err := f.store.Get(f.ctx(), id)
		require.NoError(f.t, err)
		if n.open() && row.State.Terminal() && n.parent != nil && n.parent.open() {
			n.parent.due[execution.ChildRequest(n.call)] = true
		}
		n.state = row.State
	}
}

// fell cancels the roots when no worker is left, and requires that everything ends.
func (f *forest) fell() {
	for _, id := range f.order {
		if n := f.nodes[id]; n.parent == nil {
			_, err := f.store.Cancel(f.ctx(), id)
			require.NoError(f.t, err)
		}
	}
	f.clock.Advance(ttl)
	for range treeLevels + 1 {
		f.reap()
	}
	for _, id := range f.order {
		row, err := f.store.Get(f.ctx(), id)
		require.NoError(f.t, err)
		require.True(f.t, row.State.Terminal(), "%s is %s, %d levels below its root", id, row.State, f.nodes[id].depth)
	}
}
