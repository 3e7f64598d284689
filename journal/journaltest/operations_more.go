package journaltest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// nonceOf is the part of a fence that the claimant chose.
func nonceOf(fence journal.Fence) string {
	_, nonce, _ := strings.Cut(string(fence), "-")
	return nonce
}

// numbered draws one of the holder's calls of contract C.
func (d *differential) numbered(r *run) {
	h := d.hold(r)
	expected := one(d, "expected", anyState, inRunning, []execution.State{execution.Finalizing}, nil)
	end := endingIn(one(d, "end", execution.Completed, execution.Failed, execution.Canceled))
	i := d.interaction()
	delegation := journal.Delegation{
		LeaseRef: one(d, "lease", theLease, theLease, "lease-2"), Revision: uint64(d.below(4, "revision")),
	}
	payload := one(d, "payload", warning("w"), journal.EndingPayload(end), execution.Payload(execution.ExecutionStarted{}))
	started := journal.Ending{State: execution.Running}
	op := one(
		d, "method",
		operation{"transition", func(s journal.Store) (any, error) {
			return s.Transition(bounded(d.t), h, expected, execution.Finalizing)
		}},
		operation{"finish", func(s journal.Store) (any, error) { return s.Finish(bounded(d.t), h, expected, end) }},
		operation{"transition with event", func(s journal.Store) (any, error) {
			return s.TransitionWithEvent(bounded(d.t), h, expected, end, payload)
		}},
		operation{"start", func(s journal.Store) (any, error) {
			return s.TransitionWithEvent(bounded(d.t), h, expected, started, payload)
		}},
		operation{"append event", func(s journal.Store) (any, error) { return s.AppendEvent(bounded(d.t), h, payload) }},
		operation{"append event", func(s journal.Store) (any, error) { return s.AppendEvent(bounded(d.t), h, warning("a")) }},
		operation{"begin interaction", func(s journal.Store) (any, error) { return s.BeginInteraction(bounded(d.t), h, i) }},
		operation{"complete interaction", func(s journal.Store) (any, error) {
			return s.CompleteInteraction(bounded(d.t), h, i.RequestID)
		}},
		operation{"attach delegation", func(s journal.Store) (any, error) {
			return s.AttachDelegation(bounded(d.t), h, delegation)
		}},
		operation{"attach delegation", func(s journal.Store) (any, error) {
			return s.AttachDelegation(bounded(d.t), h, delegation)
		}},
	)
	d.do(op.name, op.call)
}

func (d *differential) input(r *run) {
	input := journal.InteractionInput{
		OperationID: one(d, "operation", execution.OperationID("o1"), "o2", "o3"),
		RequestID:   one(d, "request", execution.RequestID("r1"), "r2"), Response: one(d, "response", "yes", "no"),
	}
	if pending := d.row(r).PendingInteraction; pending != nil && !d.rarely(5, "wrong request") {
		input.RequestID = pending.RequestID
	}
	d.do("input", func(s journal.Store) (any, error) { return s.CommitInteractionInput(bounded(d.t), r.id, input) })
}

// steer draws a command of an operator.
func (d *differential) steer(r *run) {
	resumption := d.resumption()
	op := one(
		d, "command",
		operation{"cancel", func(s journal.Store) (any, error) { return s.Cancel(bounded(d.t), r.id) }},
		operation{"pause", func(s journal.Store) (any, error) { return s.Pause(bounded(d.t), r.id) }},
		operation{"pause", func(s journal.Store) (any, error) { return s.Pause(bounded(d.t), r.id) }},
		operation{"resume", func(s journal.Store) (any, error) { return s.Resume(bounded(d.t), r.id, resumption) }},
		operation{"resume", func(s journal.Store) (any, error) { return s.Resume(bounded(d.t), r.id, resumption) }},
		operation{"resume", func(s journal.Store) (any, error) { return s.Resume(bounded(d.t), r.id, resumption) }},
		operation{"take back", func(s journal.Store) (any, error) { return s.TakeBack(bounded(d.t), r.id) }},
		operation{"delete", func(s journal.Store) (any, error) { return nil, s.Delete(bounded(d.t), r.id) }},
		operation{"requests", func(s journal.Store) (any, error) { return s.Requests(bounded(d.t), r.holds) }},
	)
	d.do(op.name, op.call)
}

// resumption draws what a resume changes, mostly nothing.
func (d *differential) resumption() (r journal.Resumption) {
	if d.rarely(3, "resumption") {
		r.Overrides = fmt.Append(nil, "o", d.number())
		r.Deadline = one(d, "deadline again", 0, time.Minute, time.Hour)
	}
	return r
}

func (d *differential) cleanup(r *run) {
	if d.rarely(2, "delegating") {
		d.delegating(r)
		return
	}
	lease := one(d, "lease", theLease, theLease, "one", "")
	d.do("cleanup", func(s journal.Store) (any, error) {
		return s.CompleteDelegationCleanup(bounded(d.t), r.id, lease)
	})
}

// reap lets time pass, mostly until the execution's entry is due, sweeps, and does what the sweep says.
func (d *differential) reap(r *run) {
	switch d.below(6, "reap") {
	case 0:
		d.advance()
	case 1:
		d.recover()
	default:
		d.untilDue(r)
		d.sweep()
		d.recover()
	}
}

// untilDue lets the time of the execution's entry come.
func (d *differential) untilDue(r *run) {
	for _, members := range d.b.Indexes() {
		if at, ok := members[string(r.id)]; ok && at > d.clock.Ms() {
			d.clock.Advance(time.Duration(at-d.clock.Ms()) * time.Millisecond)
		}
	}
}

func (d *differential) advance() {
	d.clock.Advance(one(
		d, "time", time.Millisecond, time.Second, 5*time.Second, 5*time.Second, ttl, ttl, 30*time.Second, time.Minute,
		10*time.Minute, time.Hour,
	))
}

// sweep compares the entries of executions and keeps them. Entries of keys are a store's own.
func (d *differential) sweep() {
	answer, err := d.ask("sweep", func(s journal.Store) (any, error) {
		found, err := s.Sweep(bounded(d.t), thePartition, 1000)
		return slices.DeleteFunc(found, func(due journal.Due) bool { return due.Action == journal.ActKey }), err
	})
	if err == nil {
		d.seen = append(d.seen, answer.([]journal.Due)...)
	}
}

// recover does what a sweep said to do, perhaps long ago, or something else.
func (d *differential) recover() {
	if len(d.seen) == 0 {
		d.sweep()
		return
	}
	i := len(d.seen) - 1 - d.below(min(len(d.seen)-1, 5)+1, "entry")
	seen := d.seen[i]
	action := seen.Action
	if d.rarely(6, "another action") {
		action = one(d, "action", journal.ActRequeue, journal.ActExpire, journal.ActPurge, journal.ActBad)
	}
	switch action {
	case journal.ActRequeue, journal.ActStanding:
		d.do("requeue", func(s journal.Store) (any, error) { return s.Requeue(bounded(d.t), seen) })
	case journal.ActExpire:
		d.do("expire", func(s journal.Store) (any, error) { return s.Expire(bounded(d.t), seen) })
	case journal.ActPurge:
		d.do("purge", func(s journal.Store) (any, error) { return nil, s.Purge(bounded(d.t), seen) })
	default:
		d.do("postpone", func(s journal.Store) (any, error) { return nil, s.Postpone(bounded(d.t), seen, time.Minute) })
	}
}

// repeat sends a call of the last few again, with the very same arguments.
func (d *differential) repeat(*run) {
	if len(d.history) == 0 {
		return
	}
	i := len(d.history) - 1 - d.below(min(len(d.history)-1, 6)+1, "earlier")
	op := d.history[i]
	if op.name != "reserve" && op.name != "claim" { // those keep books about their answers
		d.do(op.name+" again", op.call)
	}
}

// read reads one execution.
func (d *differential) read(r *run) {
	d.readAll(r)
	d.recoverable()
	d.compareRows()
}
