package executor

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// brings is a store that notes how many messages claims bring, and may change what they bring.
type brings struct {
	Store
	mu     sync.Mutex
	counts []int // guarded by mu
	change func(journal.Claimed) journal.Claimed
}

func (b *brings) Claim(ctx context.Context, q journal.ClaimRequest) (journal.Claimed, error) {
	claimed, err := b.Store.Claim(ctx, q)
	if err != nil || claimed.HistoryLength == 0 {
		return claimed, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counts = append(b.counts, len(claimed.Messages))
	if b.change != nil {
		claimed = b.change(claimed)
	}
	return claimed, nil
}

// twoTurns asks for a tool twice and notes the lengths of the transcripts it is sent.
func twoTurns(lengths *[]int) *local.Kit {
	return &local.Kit{
		Model: fakeModel(func(_ context.Context, request local.ModelRequest) (local.ModelResponse, error) {
			*lengths = append(*lengths, len(request.Messages))
			if len(request.Messages) < 5 {
				return calling("look"), nil
			}
			return text("done"), nil
		}),
		Tools: []local.Tool{tool("look", agent.ReadOnly, says("seen"))},
	}
}

func TestClaimBringsOnlyNewMessages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lengths []int
		store := &brings{}
		w := newWorld(t, &agent.Definition{}, twoTurns(&lengths), nil)
		w.durable = w.worker(twoTurns(&lengths), func(c *Config) { store.Store, c.Store = c.Store, store })
		require.Equal(t, execution.Completed, w.drive().State)
		require.Equal(t, []int{1, 3, 5}, lengths)
		require.Equal(t, []int{1, 2, 2}, store.counts, "the last one known, and the result of the tool")
		require.Zero(t, w.durable.histories.bytes, "a history that has ended is not kept")
	})
}

func TestHistoryThatTheStoreLostIsReadAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lengths []int
		store := &brings{change: func(c journal.Claimed) journal.Claimed {
			if len(c.Messages) > 1 {
				c.Messages[0] = []byte(`{"role":"user","text":"another"}`)
			}
			return c
		}}
		w := newWorld(t, &agent.Definition{}, twoTurns(&lengths), nil)
		w.durable = w.worker(twoTurns(&lengths), func(c *Config) { store.Store, c.Store = c.Store, store })
		require.Equal(t, execution.Completed, w.drive().State)
		require.Equal(t, []int{1, 3, 5}, lengths)
	})
}

func TestHistoriesAreBounded(t *testing.T) {
	t.Parallel()
	kept := newHistories(100)
	of := func(text string) *history {
		h, err := (&history{}).and([][]byte{[]byte(fmt.Sprintf(`{"role":"user","text":%q}`, text))})
		require.NoError(t, err)
		return h
	}
	one := of("one")
	for _, id := range []execution.ID{"a", "b", "c"} {
		kept.keep(id, 3, one)
	}
	require.Equal(t, 3*one.bytes, kept.bytes)
	require.NotNil(t, kept.get("a"))
	kept.keep("d", 3, one)
	require.Nil(t, kept.get("b"), "used longest ago")
	require.NotNil(t, kept.get("a"))
	kept.keep("a", 4, of(strings.Repeat("x", 90)))
	require.Nil(t, kept.get("a"), "too long to be kept")
	require.True(t, kept.seen("c", 3))
	require.False(t, kept.seen("c", 2), "the store stands before what was read")
	require.Nil(t, kept.get("c"))
	kept.drop("d")
	require.Zero(t, kept.bytes)
	require.Zero(t, kept.get("d").known())
}

func TestHistoriesAreBoundedInNumber(t *testing.T) {
	t.Parallel()
	kept := newHistories(1 << 20)
	one, err := (&history{}).and([][]byte{[]byte(`{"role":"user","text":"one"}`)})
	require.NoError(t, err)
	for n := range maxHistories + 1 {
		kept.keep(execution.ID(fmt.Sprint(n)), 3, one)
	}
	require.Nil(t, kept.get("0"), "kept longest ago")
	require.NotNil(t, kept.get("1"))
	require.Equal(t, maxHistories*one.bytes, kept.bytes)
}
