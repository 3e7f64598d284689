package link_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/journal/memjournal"
	"github.com/pawl-run/pawl/link"
	"github.com/pawl-run/pawl/link/linktest"
)

// hand is a clock that is moved by hand.
type hand struct {
	mu  sync.Mutex
	now time.Time
}

func (h *hand) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *hand) advance(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

func TestAnExecutionIsKeptForItsOwnTimeItsAgentsOrTheInstallations(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	clock := &hand{now: time.UnixMilli(1_764_420_000_000)}
	store, err := memjournal.New(journal.Config{SweepLock: -1, Now: clock.Now, Retention: 168 * time.Hour})
	require.NoError(t, err)
	model := agent.Model{Provider: "scripted", Turns: []agent.ScriptedTurn{{Text: "done"}}}
	catalog, err := agent.NewCatalog(
		&agent.Definition{Name: "demo", Backend: "local", Model: model},
		&agent.Definition{Name: "brief", Backend: "local", Model: model, Retention: 72 * time.Hour},
	)
	require.NoError(t, err)
	l := service(t, store, func(c *link.Config) { c.Catalog = catalog }).As(execution.LocalAuthority())
	for _, c := range []struct {
		agent string
		own   int64
		kept  time.Duration
	}{
		{"demo", 0, 168 * time.Hour},
		{"brief", 0, 72 * time.Hour},
		{"brief", 1000, time.Second},
		{"demo", execution.MaxRetention.Milliseconds(), execution.MaxRetention},
	} {
		request := linktest.Request("hello")
		request.Agent, request.RetentionMs = c.agent, c.own
		created, err := l.Create(ctx, "key", request)
		require.NoError(t, err)
		id := created.View.ID
		linktest.Claim(t, store, id).Complete("done")
		clock.advance(c.kept - time.Millisecond)
		require.Empty(t, purged(t, store, id.Partition()))
		again, err := l.Create(ctx, "key", request)
		require.NoError(t, err)
		require.True(t, again.Replayed, "its key is kept as long")
		clock.advance(time.Millisecond)
		require.Len(t, purged(t, store, id.Partition()), 1)
		_, err = l.Execution(ctx, id)
		require.ErrorIs(t, err, execution.ErrNotFound)
	}
}

// purged does what a reaper does about executions whose time has come.
func purged(t *testing.T, store journal.Store, p execution.Partition) (gone []string) {
	t.Helper()
	found, err := store.Sweep(context.Background(), p, 100)
	require.NoError(t, err)
	for _, due := range found {
		if due.Action == journal.ActPurge {
			require.NoError(t, store.Purge(context.Background(), due))
			gone = append(gone, due.Member)
		}
	}
	return gone
}
