package journaltest

import (
	"fmt"
	"time"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// maxSpawned is how many executions a run of the differential test has, children included.
const maxSpawned = maxRuns + 4

// spawn spawns a child, or one again; some contradict themselves.
func (d *differential) spawn(r *run) {
	call := one(d, "call", calls()...)
	n := childOf(r.id, call)
	n.Checkpoint, n.Messages = fmt.Append(nil, "c", d.number()), [][]byte{fmt.Append(nil, "m", d.count)}
	n.Deadline, n.Retention = one(d, "deadline", 0, time.Minute), one(d, "kept", 0, 0, time.Minute)
	n.Request.Priority, n.Queue = one(d, "priority", execution.Priority(""), execution.High, execution.Normal), one(d, "queue", "", "own")
	if d.rarely(8, "odd") {
		other := d.pick()
		one(
			d, "oddity", func() { n.ConversationID = other.conv }, func() { n.ID = other.id },
			func() { n.Parent.Call = one(d, "another call", calls()...) },
			func() { n.Caller = execution.CallerScope{Tenant: "another"} }, func() { n.Caller = caller() },
		)()
	}
	if len(d.runs) >= maxSpawned {
		return
	}
	s := journal.Spawn{Hold: d.hold(r), Child: n}
	answer, err := d.ask("spawn", func(store journal.Store) (any, error) { return store.Spawn(bounded(d.t), s) })
	if err == nil && answer.(journal.Reservation).Created {
		d.runs = append(d.runs, &run{id: n.ID, conv: n.ConversationID, submitted: n})
	}
}

// awaits draws a wait for children's results.
func (d *differential) awaits() journal.Then {
	then := awaitChildren()
	for _, call := range calls() {
		if d.rarely(2, "awaited") {
			then.Await = append(then.Await, execution.ChildRequest(call))
		}
	}
	then.Wait = one(d, "wait", 0, 0, 10*time.Second)
	return then
}

// toUndo draws what a commit says of the clean-up.
func (d *differential) toUndo() *[]byte {
	if !d.rarely(4, "clean-up") {
		return nil
	}
	what := one(d, "undo", []byte{}, []byte("u1"), []byte("u2"))
	return &what
}

// cleanUp draws what a reaper does about clean-ups.
func (d *differential) cleanUp(r *run) {
	switch d.below(3, "clean up") {
	case 0:
		what := one(d, "undone", []byte("u1"), []byte("u2"))
		d.do("complete cleanup", func(s journal.Store) (any, error) { return s.CompleteCleanup(bounded(d.t), r.id, what) })
	case 1:
		if seen := d.cleanups(); len(seen) > 0 {
			d.uncleaned = append(d.uncleaned, seen...)
		}
	default:
		if len(d.uncleaned) == 0 {
			return
		}
		seen := d.uncleaned[len(d.uncleaned)-1-d.below(min(len(d.uncleaned), 4), "entry")]
		d.do("postpone cleanup", func(s journal.Store) (any, error) {
			return s.PostponeCleanup(bounded(d.t), seen, time.Minute)
		})
	}
}

// cleanups compares what is to be cleaned up.
func (d *differential) cleanups() []journal.Cleanup {
	answer, err := d.ask("cleanups", func(s journal.Store) (any, error) {
		return s.Cleanups(bounded(d.t), thePartition, 100)
	})
	if err != nil {
		return nil
	}
	return answer.([]journal.Cleanup)
}
