package journaltest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func childClauses() []clause {
	return []clause{
		{name: "a child is a queued execution that its parent knows", run: spawnWhole},
		{name: "what a child leaves empty is its parent's", run: spawnInherits},
		{name: "a child is spawned once, however often its call is carried out", run: spawnRepeat},
		{name: "a child that contradicts its parent, or what is stored, is refused", run: spawnRefused},
		{name: "nobody but a running parent's holder spawns, and not after a cancel", run: spawnHolder},
		{name: "an execution has only so many children", run: spawnLimit},
		{name: "a submission is no child", run: reserveChild},
		{name: "case A13: the end of a child brings its parent the result, once, and wakes it", run: deliverWakes},
		{name: "a parent goes on when all that it awaits is there, and not before", run: deliverAll},
		{name: "a commit that parks goes on when all that it awaits is already there", run: deliverEarly},
		{name: "every kind of end delivers", run: deliverEnds},
		{name: "a result is what the child answered, failed with and spent", run: deliverResult},
		{name: "a parent that is suspended, asks or is held finds the result later", run: deliverLater},
		{name: "a wait that was bounded in time ends with the result", run: deliverBounded},
		{name: "a parent that was made runnable by a timer is not made so again", run: deliverRunnable},
		{name: "a finalizing child delivers when it has ended", run: deliverFinalizing},
		{name: "a child whose parent is gone just ends", run: deliverNobody},
		{name: "a child that was deleted is known and gone", run: childrenGone},
	}
}

// childOf is a child that answers a call.
func childOf(parent execution.ID, call execution.CallID, change ...func(*journal.NewExecution)) journal.NewExecution {
	n := journal.NewExecution{
		ID: execution.ChildID(parent, call), ConversationID: execution.ChildConversationID(parent, call),
		Fingerprint: "child", Definition: "def", Checkpoint: []byte("checkpoint 0"), Node: "run_start",
		Messages: [][]byte{[]byte("go")}, Parent: &journal.Parent{Execution: parent, Call: call},
		Request: execution.CreateRequest{
			Agent: "delegate", Input: execution.Input{Type: execution.UserMessage, Text: "go"},
		},
	}
	for _, f := range change {
		f(&n)
	}
	return n
}

// spawn spawns a child, which must be accepted.
func (a *actor) spawn(call execution.CallID, change ...func(*journal.NewExecution)) *actor {
	a.b.t.Helper()
	n := childOf(a.id, call, change...)
	answer, err := a.b.Store.Spawn(a.b.ctx(), journal.Spawn{Hold: a.hold, Child: n})
	require.NoError(a.b.t, err)
	require.True(a.b.t, answer.Created)
	return &actor{
		b: a.b, id: n.ID, conv: n.ConversationID, tasks: answer.Tasks,
		hold: journal.Hold{Execution: n.ID, Fence: "0-nobody"},
	}
}

// awaits parks the parent until the calls' children have ended.
func (a *actor) awaits(calls ...execution.CallID) journal.Committed {
	a.b.t.Helper()
	return a.commit(awaitChildren(calls...))
}

func awaitChildren(calls ...execution.CallID) journal.Then {
	then := journal.Then{Kind: journal.ThenPark, WaitKind: execution.WaitChild}
	for _, call := range calls {
		then.Await = append(then.Await, execution.ChildRequest(call))
	}
	return then
}

func callNamed(n int) execution.CallID { return execution.NewCallID(0, n) }

func spawnWhole(t *testing.T, b *bench) {
	a := b.planned()
	before := a.row()
	b.clock.Advance(time.Second)
	child := a.spawn(theCall, func(n *journal.NewExecution) { n.Deadline = time.Minute })
	row := child.row()
	require.Equal(t, execution.Queued, row.State)
	require.Equal(t, &journal.Parent{Execution: a.id, Call: theCall}, row.Parent)
	require.Equal(t, b.clock.Ms(), row.CreatedAtMs)
	require.Equal(t, "delegate", row.Agent)
	require.True(t, row.Active)
	require.EqualValues(t, 1, row.Version)
	require.Equal(t, []execution.Task{{Execution: child.id, Wake: 1, Queue: "default-new"}}, child.tasks)
	require.Equal(t, "handoff", child.entry().Index)
	require.Equal(t, []execution.EventType{execution.TypeExecutionQueued}, child.types())
	messages, err := b.Store.Messages(b.ctx(), child.id, 0, 10)
	require.NoError(t, err)
	require.Equal(t, [][]byte{[]byte("go")}, messages)
	view := row.View()
	require.Equal(t, row.Parent, view.Parent)

	after := a.row()
	require.Equal(t, 1, after.Children)
	require.Equal(t, before.Version+1, after.Version, "a client sees the child")
	require.Equal(t, before.LastSequence, after.LastSequence)
	require.Equal(t, before.Claim, after.Claim)
	a.spawn("call_0_1")
	children, err := b.Store.Children(b.ctx(), a.id)
	require.NoError(t, err)
	require.Equal(t, []journal.Child{
		{ID: child.id, Call: theCall, Agent: "delegate", State: execution.Queued},
		{ID: execution.ChildID(a.id, "call_0_1"), Call: "call_0_1", Agent: "delegate", State: execution.Queued},
	}, children)
	none, err := b.Store.Children(b.ctx(), child.id)
	require.NoError(t, err)
	require.Empty(t, none)
	_, err = b.Store.Children(b.ctx(), testID(thePartition, 4242))
	require.ErrorIs(t, err, journal.ErrNotFound)
	child.claim()
	require.Equal(t, b.clock.Ms()+60_000, child.row().DeadlineAtMs)
	child.commit(completeWith("done"))
}

func spawnInherits(t *testing.T, b *bench) {
	a := b.reserve(func(n *journal.NewExecution) {
		n.Caller, n.Queue, n.Request.Priority = execution.CallerScope{Tenant: "acme", Subject: "ann"}, "own", execution.High
		n.Retention = time.Hour
	}).claim()
	child := a.spawn("call_0_0")
	row := child.row()
	require.Equal(t, execution.CallerScope{Tenant: "acme", Subject: "ann"}, row.Caller)
	require.Equal(t, "own", row.Queue)
	require.Equal(t, execution.High, row.Priority)
	child.claim().commit(completeWith("done"))
	require.Equal(t, b.clock.Ms()+time.Hour.Milliseconds(), child.entry().AtMs)

	child = a.spawn("call_0_1", func(n *journal.NewExecution) {
		n.Request.Priority, n.Caller, n.Retention = execution.Low, a.row().Caller, time.Minute
	})
	require.Equal(t, execution.Low, child.row().Priority)
	require.Equal(t, "low", child.row().Queue)
	child.claim().commit(completeWith("done"))
	require.Equal(t, b.clock.Ms()+60_000, child.entry().AtMs)
	child = a.spawn("call_0_2", func(n *journal.NewExecution) { n.Queue = "another" })
	require.Equal(t, "another", child.row().Queue)
	require.Equal(t, execution.High, child.row().Priority)
	page, err := b.Store.List(b.ctx(), journal.Listing{Caller: a.row().Caller, Own: true, Limit: 10})
	require.NoError(t, err)
	require.Len(t, page.Executions, 4, "children are listed as any other")
}

func spawnRepeat(t *testing.T, b *bench) {
	a := b.planned()
	child := a.spawn(theCall)
	again := func() journal.Reservation {
		t.Helper()
		var answer journal.Reservation
		b.unchanged(func() {
			var err error
			answer, err = b.Store.Spawn(b.ctx(), journal.Spawn{Hold: a.hold, Child: childOf(a.id, theCall)})
			require.NoError(t, err)
		})
		require.False(t, answer.Created)
		return answer
	}
	require.Equal(t, child.tasks, again().Tasks, "the reply may have been lost with the task")
	child.claim()
	require.Empty(t, again().Tasks)
	a.cancel()
	again()
	child.commit(completeWith("done"))
	require.Equal(t, execution.Completed, again().Execution.State)
	a.runOut()
	require.Equal(t, execution.Canceled, a.cancel().Execution.State)
}

func spawnRefused(t *testing.T, b *bench) {
	a := b.planned()
	other := b.planned()
	a.spawn(theCall)
	taken := b.reserve()
	for name, change := range map[string]func(*journal.NewExecution){
		"no parent":            func(n *journal.NewExecution) { n.Parent = nil },
		"another parent":       func(n *journal.NewExecution) { n.Parent.Execution = other.id },
		"no call":              func(n *journal.NewExecution) { n.Parent.Call = "" },
		"itself":               func(n *journal.NewExecution) { n.ID = a.id },
		"no id":                func(n *journal.NewExecution) { n.ID = "exec_" },
		"another partition":    func(n *journal.NewExecution) { n.ID = testID(thePartition+1, 9) },
		"another's partition":  func(n *journal.NewExecution) { n.ConversationID = testConversation(thePartition+1, 9) },
		"a key":                func(n *journal.NewExecution) { n.IdempotencyKey = "key" },
		"a fork":               func(n *journal.NewExecution) { n.Fork = &journal.Fork{From: execution.Origin{ExecutionID: a.id}} },
		"a start time":         func(n *journal.NewExecution) { n.Request.StartAtMs = b.clock.Ms() + 1 },
		"a busy rule":          func(n *journal.NewExecution) { n.Request.OnBusy = execution.BusyEnqueue },
		"another caller":       func(n *journal.NewExecution) { n.Caller = execution.CallerScope{Tenant: "acme", Subject: "ann"} },
		"an id that is taken":  func(n *journal.NewExecution) { n.ID = taken.id },
		"a conversation":       func(n *journal.NewExecution) { n.ConversationID = taken.conv },
		"a call with a child":  func(n *journal.NewExecution) { n.Parent.Call = theCall },
		"a child with a call":  func(n *journal.NewExecution) { n.ID = execution.ChildID(a.id, theCall) },
		"a call with no sense": func(n *journal.NewExecution) { n.Parent.Call = "call 1" },
	} {
		b.unchanged(func() {
			_, err := b.Store.Spawn(b.ctx(), journal.Spawn{Hold: a.hold, Child: childOf(a.id, "call_0_1", change)})
			require.ErrorIs(t, err, journal.ErrConflict, name)
			require.NotErrorIs(t, err, journal.ErrState, name)
		})
	}
}

func spawnHolder(t *testing.T, b *bench) {
	spawn := func(h journal.Hold) error {
		_, err := b.Store.Spawn(b.ctx(), journal.Spawn{Hold: h, Child: childOf(h.Execution, theCall)})
		return err
	}
	a := b.planned()
	a.pause()
	a.cancel()
	b.unchanged(func() { require.ErrorIs(t, spawn(a.hold), journal.ErrState) })
	b.unchanged(func() { require.ErrorIs(t, spawn(journal.Hold{Execution: a.id, Fence: "9-x"}), journal.ErrFenced) })
	unknown := journal.Hold{Execution: testID(thePartition, 4242), Fence: "9-x"}
	b.unchanged(func() { require.ErrorIs(t, spawn(unknown), journal.ErrNotFound) })
	a = b.planned()
	a.pause()
	a.spawn(theCall)
	a = b.finalizing()
	b.unchanged(func() { require.ErrorIs(t, spawn(a.hold), journal.ErrState) })
}

func spawnLimit(t *testing.T, b *bench) {
	a := b.planned()
	for n := range journal.MaxChildren {
		child := a.spawn(callNamed(n))
		if n%2 == 0 {
			child.claim().commit(completeWith("done"))
		}
	}
	b.unchanged(func() {
		_, err := b.Store.Spawn(b.ctx(), journal.Spawn{Hold: a.hold, Child: childOf(a.id, "call_1_0")})
		require.ErrorIs(t, err, journal.ErrLimit)
	})
	children, err := b.Store.Children(b.ctx(), a.id)
	require.NoError(t, err)
	require.Len(t, children, journal.MaxChildren)
	for n, child := range children {
		require.Equal(t, callNamed(n), child.Call, "they come in the order of spawning")
	}
	a.commit(completeWith("done"))
	canceled := 0
	for _, child := range children {
		row, err := b.Store.Get(b.ctx(), child.ID)
		require.NoError(t, err)
		if row.CancelRequested {
			canceled++
		}
	}
	require.Equal(t, journal.MaxChildren/2, canceled)
}

func reserveChild(t *testing.T, b *bench) {
	a := b.planned()
	b.unchanged(func() {
		_, err := b.Store.Reserve(b.ctx(), b.submission(func(n *journal.NewExecution) {
			n.Parent = &journal.Parent{Execution: a.id, Call: theCall}
		}))
		require.ErrorIs(t, err, journal.ErrConflict)
	})
}

func childrenGone(t *testing.T, b *bench) {
	a := b.planned()
	child := a.spawn(theCall)
	child.claim().commit(completeWith("done"))
	child.delete()
	children, err := b.Store.Children(b.ctx(), a.id)
	require.NoError(t, err)
	require.Equal(t, []journal.Child{{ID: child.id, Call: theCall}}, children)
	b.unchanged(func() {
		_, err := b.Store.Spawn(b.ctx(), journal.Spawn{Hold: a.hold, Child: childOf(a.id, theCall)})
		require.ErrorIs(t, err, journal.ErrGone, "it was carried out")
	})
	a.commit(completeWith("done"))
	a.delete()
	require.Empty(t, b.Dump(), "nothing stays")
}
