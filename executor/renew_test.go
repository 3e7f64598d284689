package executor

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// counted counts the renewals, together and alone, and may lose the answers of those together.
type counted struct {
	journal.Store
	together, alone atomic.Int64
	lose            atomic.Bool
}

func (c *counted) RenewAll(ctx context.Context, holds []journal.Hold, ttl time.Duration) []journal.RenewAnswer {
	c.together.Add(1)
	answers := c.Store.(journal.Renewals).RenewAll(ctx, holds, ttl)
	for i := range answers {
		if c.lose.Load() {
			answers[i] = journal.RenewAnswer{Err: journal.ErrUnavailable}
		}
	}
	return answers
}

func (c *counted) Renew(ctx context.Context, h journal.Hold, ttl time.Duration) (journal.Renewed, error) {
	c.alone.Add(1)
	return c.Store.Renew(ctx, h, ttl)
}

// Case A18 for many nodes of one worker at once: their claims are renewed in one round trip, and one by one when that one
// has no answer.
func TestCaseA18_ClaimsAreRenewedTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const nodes = 5
		open := make(chan struct{})
		kit := &local.Kit{Model: fakeModel(func(context.Context, local.ModelRequest) (local.ModelResponse, error) {
			<-open
			return text("done"), nil
		})}
		definition := &agent.Definition{}
		w := newWorld(t, definition, kit, nil)
		store := &counted{Store: w.store}
		w.durable = w.worker(kit, func(c *Config) { c.Store = store })
		ids := []execution.ID{w.id}
		for range nodes - 1 {
			w.submit(definition)
			ids = append(ids, w.id)
		}
		for range 2 * nodes { // run_start and prepare_model_request
			require.NoError(t, w.next())
		}
		done := make(chan error, nodes)
		for range nodes {
			task, ok := w.queue.pop()
			require.True(t, ok)
			go func() { done <- w.durable.Run(t.Context(), task) }()
		}
		synctest.Wait()
		<-time.After(10 * 15 * time.Second)
		require.Zero(t, store.alone.Load())
		require.GreaterOrEqual(t, store.together.Load(), int64(20))
		require.LessOrEqual(t, store.together.Load(), int64(30), "every third of a claim's time")
		store.lose.Store(true)
		<-time.After(2 * 15 * time.Second)
		require.GreaterOrEqual(t, store.alone.Load(), int64(4*nodes))
		close(open)
		for range nodes {
			require.NoError(t, <-done)
		}
		for _, id := range ids {
			row, err := w.store.Get(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, string(ModelResponse), row.Node)
			require.Zero(t, row.Reclaims)
		}
	})
}

// However often a renewal is tried, trust is counted from the first try: a later one may only repeat the answer to it.
func TestTrustIsCountedFromTheFirstTryOfARenewal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		model, asked, cause := hanging()
		var lost atomic.Int64
		w := newWorld(t, &agent.Definition{}, &local.Kit{Model: model}, func(c *Config) {
			c.Store = &flaky{Store: c.Store, after: func(method string) error {
				if method != "renew" {
					return nil
				}
				if lost.Add(1) == 1 {
					<-time.After(4 * time.Second) // the claim's end was moved at the beginning of this
					return journal.ErrUnavailable
				}
				if lost.Load() > 2 {
					return journal.ErrUnavailable
				}
				return nil
			}}
		})
		w.to(BeforeModelRequest)
		done := w.start()
		<-asked
		for lost.Load() < 2 {
			<-time.After(100 * time.Millisecond)
		}
		ends := w.row().Claim.ExpiresAtMs
		require.NoError(t, <-done)
		require.ErrorIs(t, *cause.Load(), ErrTrustEnded)
		require.LessOrEqual(t, time.Now().UnixMilli(), ends, "it stopped while the claim was its own")
	})
}
