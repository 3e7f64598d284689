package link_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/link"
	"github.com/pawl-run/pawl/link/linktest"
)

// watched counts what is asked of a store.
type watched struct {
	link.Journal
	asked map[string]int
}

func (c *watched) EventPage(
	ctx context.Context, id execution.ID, after execution.Sequence, limit int,
) (journal.EventPage, error) {
	c.asked["log"]++
	return c.Journal.EventPage(ctx, id, after, limit)
}

func (c *watched) Ledger(ctx context.Context, id execution.ID, calls []execution.CallID) ([]journal.LedgerEntry, error) {
	c.asked["ledger"]++
	return c.Journal.Ledger(ctx, id, calls)
}

func (c *watched) Get(ctx context.Context, id execution.ID) (journal.Execution, error) {
	c.asked["row"]++
	return c.Journal.Get(ctx, id)
}

func (c *watched) Definition(ctx context.Context, hash string) ([]byte, error) {
	c.asked["definition"]++
	return c.Journal.Definition(ctx, hash)
}

func (c *watched) Children(ctx context.Context, id execution.ID) ([]journal.Child, error) {
	c.asked["children"]++
	return c.Journal.Children(ctx, id)
}

func TestAPageOfToolCallsAsksForTheSameHoweverLongTheLogIs(t *testing.T) {
	t.Parallel()
	store := memory(t)
	counting := &watched{Journal: store, asked: map[string]int{}}
	l := service(t, store, func(cfg *link.Config) { cfg.Journal = counting }).As(execution.LocalAuthority())
	long := func(turns int) execution.ID {
		created, err := l.Create(t.Context(), "", linktest.Request("hello"))
		require.NoError(t, err)
		w := linktest.Claim(t, store, created.View.ID)
		for turn := range turns {
			calls := make([]execution.CallID, 20)
			for i := range calls {
				calls[i] = execution.CallID(fmt.Sprintf("call_%d_%d", turn, i))
			}
			w.Plan(calls...)
			for _, call := range calls {
				w.Receive(call, `{"content":1}`, false)
			}
		}
		return created.View.ID
	}
	ask := func(id execution.ID, after execution.Sequence) map[string]int {
		clear(counting.asked)
		page, err := l.ToolCalls(t.Context(), id, after, 20)
		require.NoError(t, err)
		require.Len(t, page.ToolCalls, 20)
		asked := map[string]int{}
		for what, times := range counting.asked {
			asked[what] = times
		}
		return asked
	}
	few, many := long(10), long(200)
	want := map[string]int{"row": 1, "log": 1, "ledger": 2, "definition": 1}
	require.Equal(t, want, ask(few, 202))
	require.Equal(t, want, ask(many, 202))
	require.Equal(t, want, ask(many, 7802))

	clear(counting.asked)
	page, err := l.ToolCalls(t.Context(), many, 2, link.MaxLimit)
	require.NoError(t, err)
	require.True(t, page.HasMore)
	require.Equal(t, 10, counting.asked["log"], "a page ends where it has looked through 1,000 events")
	require.Len(t, page.ToolCalls, 500)
}
