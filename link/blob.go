package link

import (
	"context"
	"errors"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Blob implements RuntimeLink.
func (l *session) Blob(ctx context.Context, id execution.ID, hash string) ([]byte, error) {
	if !journal.ValidBlobHash(hash) {
		return nil, invalid("hash", "want the 64 digits 0-9 a-f of a SHA-256")
	}
	if _, err := l.see(ctx, "blob", id); err != nil {
		return nil, err
	}
	content, err := l.service.cfg.Journal.Blob(ctx, id, hash)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, execution.NewAPIError(execution.NotFound, "the execution has no blob of this hash").In("hash").Because(err)
	}
	if err != nil {
		return nil, l.service.problem(ctx, "blob "+string(id), err)
	}
	return content, nil
}
