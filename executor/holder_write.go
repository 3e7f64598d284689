package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// commit asks the hook and writes the step, behind those that wait to be written, or lets it wait itself. It returns true
// when the claim goes on with the next node.
func (h *holder) commit(ctx context.Context, m *machine, a advance) (kept bool, _ error) {
	checkpoint := h.named(NewCheckpoint(m.step+1, a.node, a.state)).WithStreamCursor(h.position.sequence)
	checkpoint.Resume.TraceContext = h.trace
	decision, err := consult(ctx, h.durable.cfg.Hook, checkpoint)
	if err != nil {
		return false, h.release(ctx, *retryOf(a.node, m.attempts, err, h.Jitter, nil), a.state.Usage)
	}
	if reason, suspends := decision.Suspends(); suspends && a.then.Kind != journal.ThenEnd {
		a.then = journal.Then{Kind: journal.ThenSuspend, Suspension: execution.Suspension{
			Reason: execution.ReasonPolicy, Detail: reason,
		}}
	}
	l := link{machine: m, node: a.node, state: a.state, before: h.position, last: a.last}
	if l.commit, err = h.commitOf(m, a, checkpoint); err != nil { // what a model or a remote gave cannot be written
		h.log().ErrorContext(ctx, "a boundary cannot be written", "node", a.node, "error", err)
		return false, h.release(ctx, *retryOf(a.node, m.attempts, err, h.Jitter, nil), a.state.Usage)
	}
	var whole bool
	if l.ledger, whole = h.ledgerAfter(&l.commit); whole && h.mayKeep(&l.commit) {
		l.commit.Keep = h.durable.cfg.ClaimTTL
	}
	if h.mayWait(&l) {
		h.wait(l)
		return true, nil
	}
	chain := append(h.chain, l)
	h.chain = nil
	return h.writeAll(ctx, chain)
}

// write is one commit, as often as it takes. A commit that goes on takes the task of the next step along; enqueued is that
// task once it stands.
func (h *holder) write(ctx context.Context, commit journal.Commit) (
	committed journal.Committed, enqueued *execution.Task, err error,
) {
	next := h.nextTask(&commit)
	err = repeat(ctx, h.lastTry(), func(ctx context.Context) (err error) {
		if next == nil {
			committed, err = h.durable.cfg.Store.Commit(ctx, commit)
			return err
		}
		var stands bool
		committed, stands, err = h.durable.cfg.Pipeline.CommitAndEnqueue(ctx, commit, *next)
		if stands {
			enqueued = next
		}
		next = nil // a repeated commit says which tasks are to stand
		return err
	})
	return committed, enqueued, err
}

// nextTask is the task that will stand if the commit goes on, nil when that is not to be expected or nobody can send it
// along. Only a command that takes the execution from this claim could have raised the wake number meanwhile.
func (h *holder) nextTask(commit *journal.Commit) *execution.Task {
	if h.durable.cfg.Pipeline == nil || commit.Then.Kind != journal.ThenContinue || commit.Keep > 0 || h.node.Err() != nil ||
		diesBehind(commit.Node) {
		return nil
	}
	row := &h.claimed.Execution
	return &execution.Task{
		Execution: commit.Execution, Step: commit.Reaches(), Wake: row.Wake + 1, Queue: journal.TaskQueue(row.Queue, true, false),
	}
}

// committed does what follows a commit. The tasks of its answer decide; one that stands already is not sent again.
func (h *holder) committed(ctx context.Context, commit *journal.Commit, committed journal.Committed,
	enqueued *execution.Task,
) {
	if !committed.Kept {
		h.stop()
	}
	if committed.State.Terminal() {
		h.durable.histories.drop(commit.Execution)
	} else {
		h.grow(committed.Step, commit.AllMessages())
	}
	tasks := committed.Tasks
	if enqueued != nil {
		tasks = slices.DeleteFunc(slices.Clone(tasks), func(task execution.Task) bool { return task == *enqueued })
	}
	h.durable.enqueue(ctx, tasks)
}

func (h *holder) commitOf(m *machine, a advance, checkpoint Checkpoint) (journal.Commit, error) {
	if checkpoint.State.Limits == limitsOf(m.definition) {
		checkpoint.State.Limits = execution.Limits{}
	}
	data, err := checkpoint.Encode()
	if err != nil {
		return journal.Commit{}, err
	}
	messages := make([][]byte, len(a.messages))
	for i, message := range a.messages {
		if messages[i], err = json.Marshal(message); err != nil {
			return journal.Commit{}, fmt.Errorf("encode message %d of step %d of %s: %w", i, m.step+1, m.id, err)
		}
	}
	return journal.Commit{
		Hold: h.hold(), Step: m.step, Node: string(a.node), Checkpoint: data, Messages: messages, Plan: a.plan,
		Batch: a.state.Batch.callIDs(), Events: a.events, Usage: a.state.Usage, Consumed: a.consumed,
		ReadsHistory: a.node == BeforeModelRequest, Cleanup: a.cleanup, Then: a.then,
		ClaimedAtMs: h.claimed.NowMs,
	}, nil
}

// release hands the claim back, behind what waits to be written. No reclaim is counted, and a recorded cancel or pause
// takes effect.
func (h *holder) release(ctx context.Context, back handBack, usage execution.Usage) error {
	if kept, err := h.flush(ctx); !kept {
		return err
	}
	h.stop() // no renewal may follow
	release := journal.Release{
		Hold: h.hold(), Retry: back.retry, Suspension: back.suspension, Unsent: back.unsent, Usage: &usage,
	}
	var released journal.Committed
	err := repeat(ctx, h.lastTry(), func(ctx context.Context) (err error) {
		released, err = h.durable.cfg.Store.Release(ctx, release)
		return err
	})
	if errors.Is(err, journal.ErrFenced) {
		h.superseded(ctx)
		return nil
	}
	if err != nil {
		return fmt.Errorf("release step %d of %s: %w", h.position.step, release.Execution, err)
	}
	if !back.left {
		h.durable.enqueue(ctx, released.Tasks)
	}
	return nil
}

// lastTry is until when a write that ends the claim is repeated.
func (h *holder) lastTry() time.Time {
	return h.trust.until().Add(afterlife)
}
