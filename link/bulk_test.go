package link_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal/redisjournal"
	"github.com/pawl-run/pawl/link"
	"github.com/pawl-run/pawl/link/linktest"
)

// BenchmarkBulkCancel cancels 1,000 queued executions with one call.
func BenchmarkBulkCancel(b *testing.B) {
	prefix, rdb := redistest.Prefix(), redistest.Shared(b).Client(b)
	store, err := redisjournal.New(rdb, redisjournal.Config{Prefix: prefix, Logger: quiet()})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, store.Close()) })
	l := service(b, store).As(execution.LocalAuthority())
	ctx := context.Background()
	for b.Loop() {
		b.StopTimer()
		for range link.MaxLimit {
			_, err := l.Create(ctx, "", linktest.Request("hello"))
			require.NoError(b, err)
		}
		b.StartTimer()
		result, err := l.Bulk(ctx, execution.BulkRequest{
			Action: execution.BulkCancel, Limit: link.MaxLimit,
			Filter: execution.BulkFilter{Agent: "demo", State: execution.Queued},
		})
		require.NoError(b, err)
		require.Equal(b, link.MaxLimit, result.Changed)
	}
}
