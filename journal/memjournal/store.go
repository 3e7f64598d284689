package memjournal

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Store is a journal.Store in memory. It is safe for concurrent use.
type Store struct {
	cfg journal.Config

	mu            sync.Mutex // guards all below
	rows          map[execution.ID]*row
	conversations map[string]*conversation // by name
	keys          map[string]*keyEntry     // by member
	definitions   map[string][]byte
	sweptUntil    map[execution.Partition]int64
	feed          feed
}

// keyEntry is an idempotency key in use.
type keyEntry struct {
	execution execution.ID
	partition execution.Partition
	lookAtMs  int64
	gone      bool // its execution was deleted
}

// New makes an empty store.
func New(cfg journal.Config) (*Store, error) {
	cfg, err := cfg.WithDefaults()
	if err != nil {
		return nil, err
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Store{
		cfg:           cfg,
		rows:          map[execution.ID]*row{},
		conversations: map[string]*conversation{},
		keys:          map[string]*keyEntry{},
		definitions:   map[string][]byte{},
		sweptUntil:    map[execution.Partition]int64{},
		feed:          newFeed(),
	}, nil
}

var _ journal.Store = (*Store)(nil)

// lock begins a call. The caller defers the unlock.
func (s *Store) lock(ctx context.Context, operation string, id execution.ID) (nowMs int64, unlock func(), err error) {
	if err := ctx.Err(); err != nil {
		return 0, nil, fail(operation, id, err)
	}
	s.mu.Lock()
	return s.cfg.Now().UnixMilli(), s.mu.Unlock, nil
}

// row finds a row, or ErrNotFound.
func (s *Store) row(id execution.ID) (*row, error) {
	if r := s.rows[id]; r != nil {
		return r, nil
	}
	return nil, journal.ErrNotFound
}

// fail wraps a refusal with the operation and the id.
func fail(operation string, id execution.ID, err error) error {
	return fmt.Errorf("journal: %s %s: %w", operation, id, err)
}

// in refuses a row that is in no state in which the move is allowed.
func in(r *row, move journal.Move) error {
	if slices.Contains(journal.Allowed(move), r.State) {
		return nil
	}
	return fmt.Errorf("%w: %s in %s", journal.ErrState, move, r.State)
}

func cloneBytes(list [][]byte) [][]byte {
	out := make([][]byte, 0, len(list))
	for _, b := range list {
		out = append(out, append([]byte{}, b...))
	}
	return out
}
