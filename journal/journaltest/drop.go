package journaltest

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Dropping wraps a store so that, after drop was called, the next mutating call is carried out and its reply is lost.
func Dropping(store journal.Store) (wrapped journal.Store, drop func()) {
	d := &dropping{Store: store}
	return d, func() { d.armed.Store(true) }
}

type dropping struct {
	journal.Store
	armed atomic.Bool
}

// reply passes an answer on, or loses it.
func reply[T any](d *dropping, answer T, err error) (T, error) {
	if d.armed.CompareAndSwap(true, false) {
		var none T
		return none, fmt.Errorf("%w: the reply was lost", journal.ErrUnavailable)
	}
	return answer, err
}

func (d *dropping) Reserve(ctx context.Context, n journal.NewExecution) (journal.Reservation, error) {
	answer, err := d.Store.Reserve(ctx, n)
	return reply(d, answer, err)
}

func (d *dropping) Claim(ctx context.Context, q journal.ClaimRequest) (journal.Claimed, error) {
	answer, err := d.Store.Claim(ctx, q)
	return reply(d, answer, err)
}

func (d *dropping) Renew(ctx context.Context, h journal.Hold, ttl time.Duration) (journal.Renewed, error) {
	answer, err := d.Store.Renew(ctx, h, ttl)
	return reply(d, answer, err)
}

func (d *dropping) Record(ctx context.Context, q journal.Record) (journal.Recorded, error) {
	answer, err := d.Store.Record(ctx, q)
	return reply(d, answer, err)
}

func (d *dropping) Commit(ctx context.Context, q journal.Commit) (journal.Committed, error) {
	answer, err := d.Store.Commit(ctx, q)
	return reply(d, answer, err)
}

func (d *dropping) Release(ctx context.Context, q journal.Release) (journal.Committed, error) {
	answer, err := d.Store.Release(ctx, q)
	return reply(d, answer, err)
}

func (d *dropping) Transition(
	ctx context.Context, h journal.Hold, expected []execution.State, next execution.State,
) (journal.Execution, error) {
	answer, err := d.Store.Transition(ctx, h, expected, next)
	return reply(d, answer, err)
}

func (d *dropping) AttachDelegation(
	ctx context.Context, h journal.Hold, delegation journal.Delegation,
) (journal.Execution, error) {
	answer, err := d.Store.AttachDelegation(ctx, h, delegation)
	return reply(d, answer, err)
}

func (d *dropping) CompleteDelegationCleanup(
	ctx context.Context, id execution.ID, lease journal.LeaseRef,
) (journal.Execution, error) {
	answer, err := d.Store.CompleteDelegationCleanup(ctx, id, lease)
	return reply(d, answer, err)
}

func (d *dropping) Finish(
	ctx context.Context, h journal.Hold, expected []execution.State, end journal.Ending,
) (journal.Mutation, error) {
	answer, err := d.Store.Finish(ctx, h, expected, end)
	return reply(d, answer, err)
}

func (d *dropping) TransitionWithEvent(
	ctx context.Context, h journal.Hold, expected []execution.State, end journal.Ending, payload execution.Payload,
) (journal.Mutation, error) {
	answer, err := d.Store.TransitionWithEvent(ctx, h, expected, end, payload)
	return reply(d, answer, err)
}

func (d *dropping) AppendEvent(
	ctx context.Context, h journal.Hold, payload execution.Payload,
) (execution.Event, error) {
	answer, err := d.Store.AppendEvent(ctx, h, payload)
	return reply(d, answer, err)
}

func (d *dropping) BeginInteraction(
	ctx context.Context, h journal.Hold, interaction execution.Interaction,
) (journal.Mutation, error) {
	answer, err := d.Store.BeginInteraction(ctx, h, interaction)
	return reply(d, answer, err)
}

func (d *dropping) CommitInteractionInput(
	ctx context.Context, id execution.ID, input journal.InteractionInput,
) (journal.Mutation, error) {
	answer, err := d.Store.CommitInteractionInput(ctx, id, input)
	return reply(d, answer, err)
}

func (d *dropping) CompleteInteraction(
	ctx context.Context, h journal.Hold, request execution.RequestID,
) (journal.Execution, error) {
	answer, err := d.Store.CompleteInteraction(ctx, h, request)
	return reply(d, answer, err)
}

func (d *dropping) Cancel(ctx context.Context, id execution.ID) (journal.Change, error) {
	answer, err := d.Store.Cancel(ctx, id)
	return reply(d, answer, err)
}

func (d *dropping) Pause(ctx context.Context, id execution.ID) (journal.Change, error) {
	answer, err := d.Store.Pause(ctx, id)
	return reply(d, answer, err)
}

func (d *dropping) Resume(
	ctx context.Context, id execution.ID, resumption journal.Resumption,
) (journal.Change, error) {
	answer, err := d.Store.Resume(ctx, id, resumption)
	return reply(d, answer, err)
}

func (d *dropping) TakeBack(ctx context.Context, id execution.ID) (journal.Change, error) {
	answer, err := d.Store.TakeBack(ctx, id)
	return reply(d, answer, err)
}

func (d *dropping) Delete(ctx context.Context, id execution.ID) error {
	_, err := reply(d, struct{}{}, d.Store.Delete(ctx, id))
	return err
}

func (d *dropping) Requeue(ctx context.Context, seen journal.Due) (journal.Requeued, error) {
	answer, err := d.Store.Requeue(ctx, seen)
	return reply(d, answer, err)
}

func (d *dropping) Expire(ctx context.Context, seen journal.Due) (journal.Requeued, error) {
	answer, err := d.Store.Expire(ctx, seen)
	return reply(d, answer, err)
}

func (d *dropping) Postpone(ctx context.Context, seen journal.Due, delay time.Duration) error {
	_, err := reply(d, struct{}{}, d.Store.Postpone(ctx, seen, delay))
	return err
}

func (d *dropping) Purge(ctx context.Context, seen journal.Due) error {
	_, err := reply(d, struct{}{}, d.Store.Purge(ctx, seen))
	return err
}

func (d *dropping) Spawn(ctx context.Context, spawn journal.Spawn) (journal.Reservation, error) {
	answer, err := d.Store.Spawn(ctx, spawn)
	return reply(d, answer, err)
}

func (d *dropping) Delegate(ctx context.Context, id execution.ID, delegation journal.Delegation) (journal.Change, error) {
	answer, err := d.Store.Delegate(ctx, id, delegation)
	return reply(d, answer, err)
}

func (d *dropping) RefuseDelegation(
	ctx context.Context, id execution.ID, failure execution.Failure,
) (journal.Change, error) {
	answer, err := d.Store.RefuseDelegation(ctx, id, failure)
	return reply(d, answer, err)
}

func (d *dropping) CompleteCleanup(ctx context.Context, id execution.ID, cleanup []byte) (journal.Change, error) {
	answer, err := d.Store.CompleteCleanup(ctx, id, cleanup)
	return reply(d, answer, err)
}

func (d *dropping) PostponeCleanup(ctx context.Context, seen journal.Cleanup, delay time.Duration) (bool, error) {
	answer, err := d.Store.PostponeCleanup(ctx, seen, delay)
	return reply(d, answer, err)
}

func (d *dropping) PutPushConfig(ctx context.Context, id execution.ID, name string, config []byte, mark string) error {
	_, err := reply(d, struct{}{}, d.Store.PutPushConfig(ctx, id, name, config, mark))
	return err
}

func (d *dropping) DeletePushConfig(ctx context.Context, id execution.ID, name string) error {
	_, err := reply(d, struct{}{}, d.Store.DeletePushConfig(ctx, id, name))
	return err
}

func (d *dropping) MarkPushed(ctx context.Context, id execution.ID, name, mark string) error {
	_, err := reply(d, struct{}{}, d.Store.MarkPushed(ctx, id, name, mark))
	return err
}

func (d *dropping) DropPushes(ctx context.Context, id execution.ID, mark string) (bool, error) {
	answer, err := d.Store.DropPushes(ctx, id, mark)
	return reply(d, answer, err)
}

func (d *dropping) PutDefinition(ctx context.Context, hash string, definition []byte) error {
	_, err := reply(d, struct{}{}, d.Store.PutDefinition(ctx, hash, definition))
	return err
}
