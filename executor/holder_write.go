package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/faultpoint"
	"github.com/pawl-run/pawl/journal"
)

// commit asks the hook and writes the step. It is repeated with the very same arguments until the store has answered.
func (h *holder) commit(ctx context.Context, m *machine, a advance) error {
	checkpoint := h.named(NewCheckpoint(m.step+1, a.node, a.state)).WithStreamCursor(h.claimed.Execution.LastSequence)
	decision, err := consult(ctx, h.durable.cfg.Hook, checkpoint)
	if err != nil {
		return h.release(ctx, *retryOf(a.node, m.attempts, err, h.Jitter, nil), a.state.Usage)
	}
	if reason, suspends := decision.Suspends(); suspends && a.then.Kind != journal.ThenEnd {
		a.then = journal.Then{Kind: journal.ThenSuspend, Suspension: execution.Suspension{
			Reason: execution.ReasonPolicy, Detail: reason,
		}}
	}
	commit, err := h.commitOf(m, a, checkpoint)
	if err != nil {
		return err
	}
	faultpoint.Hit("before_commit:" + string(a.node))
	var committed journal.Committed
	err = repeat(ctx, h.lastTry(), func(ctx context.Context) (err error) {
		committed, err = h.durable.cfg.Store.Commit(ctx, commit)
		return err
	})
	switch {
	case errors.Is(err, journal.ErrFenced):
		h.superseded(ctx)
		return nil
	case errors.Is(err, journal.ErrLimit) && a.node != RunFailed:
		return h.commit(ctx, m, m.fail(execution.CodeEventLimitExceeded, "the execution's log is full"))
	case err != nil:
		return fmt.Errorf("commit step %d of %s: %w", commit.Step+1, commit.Execution, err)
	}
	h.stop()
	if committed.State.Terminal() {
		h.durable.histories.drop(commit.Execution)
	}
	faultpoint.Hit("after_commit:" + string(a.node))
	h.durable.enqueue(ctx, committed.Tasks)
	return nil
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
		ReadsHistory: a.node == BeforeModelRequest, Then: a.then,
	}, nil
}

// release hands the claim back. No reclaim is counted, and a recorded cancel or pause takes effect.
func (h *holder) release(ctx context.Context, back handBack, usage execution.Usage) error {
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
		return fmt.Errorf("release step %d of %s: %w", h.claimed.Execution.Step, release.Execution, err)
	}
	h.durable.enqueue(ctx, released.Tasks)
	return nil
}

// lastTry is until when a write that ends the claim is repeated.
func (h *holder) lastTry() time.Time {
	return h.trust.until().Add(afterlife)
}
