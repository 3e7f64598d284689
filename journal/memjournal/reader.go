package memjournal

import (
	"cmp"
	"context"
	"slices"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Get implements journal.Reader.
func (s *Store) Get(ctx context.Context, id execution.ID) (journal.Execution, error) {
	r, unlock, err := s.read(ctx, "get", id)
	if err != nil {
		return journal.Execution{}, err
	}
	defer unlock()
	return r.snapshot(), nil
}

// read finds a row; the caller defers the unlock.
func (s *Store) read(ctx context.Context, operation string, id execution.ID) (*row, func(), error) {
	_, unlock, err := s.lock(ctx, operation, id)
	if err != nil {
		return nil, nil, err
	}
	r, err := s.row(id)
	if err != nil {
		unlock()
		return nil, nil, fail(operation, id, err)
	}
	return r, unlock, nil
}

// Events implements journal.Reader.
func (s *Store) Events(
	ctx context.Context, id execution.ID, after execution.Sequence, limit int,
) ([]execution.Event, error) {
	p, err := s.EventPage(ctx, id, after, limit)
	return p.Events, err
}

// EventPage implements journal.Reader.
func (s *Store) EventPage(
	ctx context.Context, id execution.ID, after execution.Sequence, limit int,
) (journal.EventPage, error) {
	r, unlock, err := s.read(ctx, "events", id)
	if err != nil {
		return journal.EventPage{}, err
	}
	defer unlock()
	p := journal.EventPage{Last: r.LastSequence, State: r.State, Caller: r.Caller}
	for n := after; n < r.LastSequence && len(p.Events) < limit; n++ {
		p.Events = append(p.Events, r.event(n+1))
	}
	return p, nil
}

// LastSequences implements journal.Reader.
func (s *Store) LastSequences(ctx context.Context, ids []execution.ID) ([]execution.Sequence, error) {
	_, unlock, err := s.lock(ctx, "last sequences", "")
	if err != nil {
		return nil, err
	}
	defer unlock()
	out := make([]execution.Sequence, len(ids))
	for i, id := range ids {
		if r := s.rows[id]; r != nil {
			out[i] = r.LastSequence
		}
	}
	return out, nil
}

// Checkpoints implements journal.Reader.
func (s *Store) Checkpoints(ctx context.Context, id execution.ID, from execution.Step, limit int) (
	[]journal.StoredCheckpoint, error,
) {
	r, unlock, err := s.read(ctx, "checkpoints", id)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if from > execution.Step(len(r.checkpoints)) {
		return nil, nil
	}
	found := slices.Clone(r.checkpoints[from:])
	found = found[:min(max(0, limit), len(found))]
	for i := range found {
		found[i].Data = slices.Clone(found[i].Data)
	}
	return found, nil
}

// Messages implements journal.Reader.
func (s *Store) Messages(ctx context.Context, id execution.ID, from, limit int) ([][]byte, error) {
	r, unlock, err := s.read(ctx, "messages", id)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return page(s.history(r), from, max(0, limit)), nil
}

// Ledger implements journal.Reader.
func (s *Store) Ledger(
	ctx context.Context, id execution.ID, calls []execution.CallID,
) ([]journal.LedgerEntry, error) {
	r, unlock, err := s.read(ctx, "ledger", id)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return r.entries(calls), nil
}

// page copies at most limit entries from index from on; a negative limit is none.
func page(list [][]byte, from, limit int) [][]byte {
	from = min(max(0, from), len(list))
	list = list[from:]
	if limit >= 0 && limit < len(list) {
		list = list[:limit]
	}
	return cloneBytes(list)
}

// Recoverable implements journal.ExecutionJournal.
func (s *Store) Recoverable(ctx context.Context, limit int) ([]journal.Execution, error) {
	now, unlock, err := s.lock(ctx, "recoverable", "")
	if err != nil {
		return nil, err
	}
	defer unlock()
	var found []*row
	for _, r := range s.rows {
		if r.recoverable(now) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b *row) int {
		return cmp.Or(cmp.Compare(a.atMs, b.atMs), cmp.Compare(a.ID, b.ID))
	})
	out := make([]journal.Execution, 0, min(max(0, limit), len(found)))
	for _, r := range found[:cap(out)] {
		out = append(out, r.snapshot())
	}
	return out, nil
}

func (r *row) recoverable(nowMs int64) bool {
	switch r.State {
	case execution.Queued, execution.Running:
		parked := r.Wait != nil && r.NotBeforeMs == 0
		later := r.index == indexDue && r.atMs > nowMs // a reaper moved the entry on
		return r.Active && !r.live(nowMs) && r.NotBeforeMs <= nowMs && !parked && !later
	case execution.Finalizing:
		return !r.live(nowMs)
	case execution.WaitingForInput, execution.Suspended:
		return false
	default:
		return r.CleanupOpen()
	}
}

// PutDefinition implements journal.Definitions.
func (s *Store) PutDefinition(ctx context.Context, hash string, definition []byte) error {
	_, unlock, err := s.lock(ctx, "put definition", execution.ID(hash))
	if err != nil {
		return err
	}
	defer unlock()
	if _, ok := s.definitions[hash]; !ok {
		s.definitions[hash] = append([]byte{}, definition...)
	}
	return nil
}

// Definition implements journal.Definitions.
func (s *Store) Definition(ctx context.Context, hash string) ([]byte, error) {
	_, unlock, err := s.lock(ctx, "definition", execution.ID(hash))
	if err != nil {
		return nil, err
	}
	defer unlock()
	definition, ok := s.definitions[hash]
	if !ok {
		return nil, fail("definition", execution.ID(hash), journal.ErrNotFound)
	}
	return append([]byte{}, definition...), nil
}
