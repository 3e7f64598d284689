package link_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal/redisjournal"
	"github.com/pawl-run/pawl/link"
	"github.com/pawl-run/pawl/link/linktest"
)

// storeOnRedis is a store on a real Redis, and the prefix of its keys.
func storeOnRedis(t *testing.T) (store *redisjournal.Store, prefix string) {
	t.Helper()
	prefix = redistest.Prefix()
	store, err := redisjournal.New(redistest.Shared(t).Client(t), redisjournal.Config{Prefix: prefix})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store, prefix
}

// everyCall follows the pages to their end. What they cost is bounded, and each goes on.
func everyCall(rt *rapid.T, l link.RuntimeLink, id execution.ID, limit func() int) (calls []execution.LedgerEntry) {
	after, pages := execution.Sequence(0), 0
	for more := true; more; pages++ {
		size := limit()
		page, err := l.ToolCalls(rt.Context(), id, after, size)
		require.NoError(rt, err)
		require.LessOrEqual(rt, len(page.ToolCalls), size)
		require.True(rt, page.NextAfter > after || !page.HasMore)
		for _, call := range page.ToolCalls {
			require.Greater(rt, call.Sequence, after)
			require.LessOrEqual(rt, call.Sequence, page.NextAfter)
		}
		calls, after, more = append(calls, page.ToolCalls...), page.NextAfter, page.HasMore
	}
	return calls
}

// TestAllPagesTogetherGiveEachCallOnce: whatever is in the log and in the receipts, and whatever the sizes of the pages.
func TestAllPagesTogetherGiveEachCallOnce(t *testing.T) {
	t.Parallel()
	store, _ := storeOnRedis(t)
	l := service(t, store).As(execution.LocalAuthority())
	rapid.Check(t, func(rt *rapid.T) {
		created, err := l.Create(t.Context(), "", linktest.Request("hello"))
		require.NoError(rt, err)
		id := created.View.ID
		w := linktest.Claim(t, store, id)
		var want, open []execution.CallID
		done := map[execution.CallID]int{}
		for turn := range rapid.IntRange(0, 5).Draw(rt, "turns") {
			batch := make([]execution.CallID, rapid.SampledFrom([]int{1, 2, 7, 60}).Draw(rt, "calls"))
			for i := range batch {
				batch[i] = execution.CallID(fmt.Sprintf("call_%d_%d", turn, i))
			}
			w.Plan(batch...)
			want, open = append(want, batch...), append(open, batch...)
			for range rapid.IntRange(0, min(5, len(open))).Draw(rt, "receipts") {
				i := rapid.IntRange(0, len(open)-1).Draw(rt, "which")
				size := rapid.SampledFrom([]int{1, 1, 1, 1, 50_000, 1_500_000}).Draw(rt, "bytes")
				w.Receive(open[i], `{"content":"`+strings.Repeat("x", size)+`"}`, false)
				done[open[i]] = size
				open = append(open[:i:i], open[i+1:]...)
			}
			w.Warnings(rapid.SampledFrom([]int{0, 0, 3}).Draw(rt, "others"))
		}
		switch rapid.SampledFrom([]string{"open", "canceled", "completed"}).Draw(rt, "end") {
		case "canceled":
			_, err = l.Cancel(t.Context(), id)
			require.NoError(rt, err)
		case "completed":
			w.Complete("done")
		}
		sizes := rapid.SampledFrom([]int{1, 2, 7, 100, link.MaxLimit, 1 << 62})
		calls := everyCall(rt, l, id, func() int { return sizes.Draw(rt, "limit") })
		require.Len(rt, calls, len(want))
		for i, call := range calls {
			require.Equal(rt, want[i], call.CallID)
			size, ended := done[call.CallID]
			require.Equal(rt, ended, call.State == execution.CallDone, call.CallID)
			if ended {
				require.Len(rt, call.Result.Content, size+2)
			}
		}
	})
}

// TestDamagedLedgersHideNothing: garbage in Redis in place of intents and receipts.
func TestDamagedLedgersHideNothing(t *testing.T) {
	t.Parallel()
	store, prefix := storeOnRedis(t)
	rdb := redistest.Shared(t).Client(t)
	s := service(t, store)
	created, err := s.As(execution.LocalAuthority()).Create(t.Context(), "", linktest.Request("hello"))
	require.NoError(t, err)
	id := created.View.ID
	w := linktest.Claim(t, store, id)
	garbage := []string{"", "null", "[]", "{", `{"content":`, "\x00\xff\xfe", `{"content":1}{`, `"text"`, strings.Repeat("[", 20_000), "9e999"}
	calls := make([]execution.CallID, len(garbage)+1)
	for i := range calls {
		calls[i] = execution.CallID(fmt.Sprintf("call_0_%d", i))
	}
	w.Plan(calls...)
	for _, call := range calls {
		w.Receive(call, `{"content":"fine"}`, false)
	}
	found, err := rdb.Keys(t.Context(), prefix+"*"+string(id)+":tools").Result()
	require.NoError(t, err)
	require.Len(t, found, 1)
	for i, bad := range garbage {
		require.NoError(t, rdb.HSet(t.Context(), found[0], string(calls[i])+":intent", bad, string(calls[i])+":receipt", bad).Err())
	}
	for name, l := range map[string]link.RuntimeLink{
		"service": s.As(execution.LocalAuthority()), "client": overHTTP(t, s)(execution.LocalAuthority()),
	} {
		page, err := l.ToolCalls(t.Context(), id, 0, 100)
		require.NoError(t, err, name)
		require.Len(t, page.ToolCalls, len(calls), name)
		for i, call := range page.ToolCalls {
			require.Equal(t, calls[i], call.CallID)
			require.Equal(t, "refund", call.Name)
			require.Equal(t, execution.CallDone, call.State, garbage[min(i, len(garbage)-1)])
			require.NotZero(t, call.DoneAtMs)
		}
		require.JSONEq(t, `"fine"`, string(page.ToolCalls[len(garbage)].Result.Content))
	}
}
