package executor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/faultpoint"
	"github.com/pawl-run/pawl/journal"
)

// computes reports whether the work after a boundary is computation alone, so that it may be done before the boundary is
// written: if the worker dies, somebody else computes the same. This is the one place that says so. A node of which it is
// not true asks Sure, MarkStarted or Receive, and none of them lets it act ahead of its boundary.
func computes(node Node, state *RunState) bool {
	switch node {
	case RunStart, PrepareModelRequest, ModelResponse, ValidateOutput:
		return true
	case ToolReturn: // answers to an open question and results of children become receipts
		return state.Batch == nil || state.Batch.Asked == nil && len(state.Batch.in(CallDelegated)) == 0
	case BeforeModelRequest, ToolCall, RunComplete, RunFailed:
		return false
	default:
		return false
	}
}

// errAhead stops a node that is about to act although its boundary is not written yet.
var errAhead = errors.New("the boundary is not written yet")

// ahead is errAhead while boundaries wait to be written.
func (h *holder) ahead() error {
	if len(h.chain) > 0 {
		return errAhead
	}
	return nil
}

// link is a boundary that the machine has come to.
type link struct {
	machine *machine
	node    Node
	state   RunState
	before  position // where the machine began
	commit  journal.Commit
	ledger  []journal.LedgerEntry // of the batch, once the boundary is written
	last    []backend.Event       // to be emitted then; see mayWait
}

// mayWait reports whether the boundary's write may wait for that of a later one. A process that is to die behind its
// commit writes it by itself.
func (h *holder) mayWait(l *link) bool {
	return l.commit.Keep > 0 && len(l.last) == 0 && l.commit.Cleanup == nil && len(h.chain) < journal.MaxEarlier && computes(l.node, &l.state) && !diesBehind(string(l.node))
}

// wait goes on behind the boundary without writing it.
func (h *holder) wait(l link) {
	h.chain = append(h.chain, l)
	h.moveOn(&l, journal.Committed{
		Step: l.commit.Reaches(), Sequence: h.sequence() + execution.Sequence(len(l.commit.Events)),
	})
}

// flush writes what waits. It returns true when the claim goes on, or nothing waited.
func (h *holder) flush(ctx context.Context) (kept bool, _ error) {
	chain := h.chain
	if len(chain) == 0 {
		return true, nil
	}
	h.chain = nil
	return h.writeAll(ctx, chain)
}

// writeAll writes the boundaries in one commit. It returns true when the claim goes on with the next node.
func (h *holder) writeAll(ctx context.Context, chain []link) (kept bool, _ error) {
	last := &chain[len(chain)-1]
	commit := joined(chain)
	hitAll("before_commit:", chain)
	if commit.Keep == 0 {
		h.giveBack(commit.Then.Kind == journal.ThenContinue)
	}
	sent := time.Now() // of the first try: a later one may only repeat its answer
	committed, enqueued, err := h.write(ctx, commit)
	switch {
	case errors.Is(err, journal.ErrFenced):
		h.superseded(ctx)
		return false, nil
	case errors.Is(err, journal.ErrLimit) && len(chain) > 1:
		return h.writeSingly(ctx, chain)
	case errors.Is(err, journal.ErrLimit) && last.node != RunFailed:
		h.position = last.before
		m := last.machine
		m.state.MessageCount -= len(last.commit.Messages) // they were refused
		return h.commit(ctx, m, m.fail(execution.CodeEventLimitExceeded, "the execution's log is full"))
	case err != nil:
		return false, fmt.Errorf("commit step %d of %s: %w", commit.Reaches(), commit.Execution, err)
	}
	hitAll("after_commit:", chain)
	h.emitLast(ctx, last)
	h.committed(ctx, &commit, committed, enqueued)
	if committed.State.Terminal() {
		h.durable.cfg.Observer.Ended(last.machine.definition.Name, committed.State)
		h.spanOfAll(ctx, last.machine.definition.Name, committed.State)
	}
	if !committed.Kept {
		return false, nil
	}
	h.trust.extend(sent, commit.Keep)
	h.moveOn(last, committed)
	return true, nil
}

// writeSingly writes the boundaries one by one: the log has room for some of them at most.
func (h *holder) writeSingly(ctx context.Context, chain []link) (kept bool, err error) {
	for i := range chain {
		h.position = chain[i].before
		if kept, err = h.writeAll(ctx, chain[i:i+1]); !kept {
			return false, err
		}
	}
	return kept, nil
}

// joined is the commit of all boundaries.
func joined(chain []link) journal.Commit {
	commit := chain[len(chain)-1].commit
	for i := range chain[:len(chain)-1] {
		c := &chain[i].commit
		commit.Earlier = append(commit.Earlier, journal.Boundary{
			Checkpoint: c.Checkpoint, Messages: c.Messages, Plan: c.Plan, Events: c.Events, Consumed: c.Consumed,
		})
	}
	commit.Step = chain[0].commit.Step
	return commit
}

// diesBehind reports whether this process is to die behind the commit of the boundary.
func diesBehind(node string) bool {
	return faultpoint.Enabled && faultpoint.Armed("after_commit:"+node)
}

func hitAll(point string, chain []link) {
	if !faultpoint.Enabled {
		return
	}
	for i := range chain {
		faultpoint.Hit(point + string(chain[i].node))
	}
}
