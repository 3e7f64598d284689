package memjournal

import (
	"context"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Blob implements journal.Reader.
func (s *Store) Blob(ctx context.Context, id execution.ID, hash string) ([]byte, error) {
	const operation = "blob"
	_, unlock, err := s.lock(ctx, operation, id)
	if err != nil {
		return nil, err
	}
	defer unlock()
	r, err := s.row(id)
	if err != nil {
		return nil, fail(operation, id, err)
	}
	for _, blobs := range append([]map[string][]byte{r.blobs}, r.lent...) {
		if content, ok := blobs[hash]; ok {
			return slices.Clone(content), nil
		}
	}
	return nil, fail(operation, id, fmt.Errorf("%w: blob %.64s", journal.ErrNotFound, hash))
}

func (r *row) keepBlobs(blobs []journal.Blob) {
	for _, blob := range blobs {
		if r.blobs == nil {
			r.blobs = map[string][]byte{}
		}
		if _, ok := r.blobs[blob.Hash]; !ok {
			r.blobs[blob.Hash] = append([]byte{}, blob.Content...)
		}
	}
}
