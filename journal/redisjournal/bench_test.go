package redisjournal

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal"
)

// BenchmarkStep is a claim and a commit of one small step, at the beginning of a history and far into it.
func BenchmarkStep(b *testing.B) {
	for _, before := range []int{0, 1000} {
		b.Run(fmt.Sprintf("after %d messages", before), func(b *testing.B) {
			ctx := context.Background()
			store, err := New(redistest.Shared(b).Client(b), Config{Prefix: redistest.Prefix()})
			require.NoError(b, err)
			b.Cleanup(func() { require.NoError(b, store.Close()) })
			n := newExecution(7)
			for range before {
				n.Messages = append(n.Messages, make([]byte, 200))
			}
			_, err = store.Reserve(ctx, n)
			require.NoError(b, err)
			for i := range b.N {
				claimed, err := store.Claim(ctx, journal.ClaimRequest{
					Execution: n.ID, Worker: "w", Nonce: fmt.Sprint("n", i), TTL: time.Minute,
				})
				require.NoError(b, err)
				_, err = store.Commit(ctx, next(claimed, journal.Then{Kind: journal.ThenContinue}))
				require.NoError(b, err)
			}
		})
	}
}
