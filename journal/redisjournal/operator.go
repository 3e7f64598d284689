package redisjournal

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// goneLasts is how long a deleted row with a key in another partition cannot be reserved anew, whatever its key said before:
// longer than any submission is under way.
const goneLasts = 10 * time.Minute

// TakeBack takes the claim from its holder. See journal.Commands.
func (s *Store) TakeBack(ctx context.Context, id execution.ID) (journal.Change, error) {
	var e encoder
	args := []any{allowed(journal.MoveTakeBack), terminalStates(), e.event(journal.ReleasedWarning(fromPlace))}
	return change("take back", id, newReplyOf(s.run(ctx, s.scripts.takeBack, id, args...)))
}

// Delete deletes an execution that has ended. See journal.Commands.
func (s *Store) Delete(ctx context.Context, id execution.ID) error {
	if err := s.delete(ctx, id); err != nil {
		return refusal("delete", string(id), err)
	}
	return nil
}

// delete deletes the row, and before it marks a key that lives in another partition. Both moves repeat safely: a marked key
// whose row is still there refuses as one whose row is gone.
func (s *Store) delete(ctx context.Context, id execution.ID) error {
	states, lasts := allowed(journal.MoveDelete), goneLasts.Milliseconds()
	r, err := newReply(s.run(ctx, s.scripts.delete, id, states, "", lasts))
	if err != nil || r.text(0) != "key" {
		return err
	}
	scope, key, at := execution.CallerScope{Tenant: r.text(1), Subject: r.text(2)}, r.text(3), r.text(4)
	if r.err != nil {
		return r.err
	}
	keys := []string{s.keys.idempotency(scope, key), s.keys.purge(execution.KeyPartition(scope, key))}
	if _, err := s.runKeys(ctx, s.scripts.markKey, keys, keyMember(scope, key), at, string(id)); err != nil {
		return err
	}
	_, err = s.run(ctx, s.scripts.delete, id, states, "1", lasts)
	return err
}
