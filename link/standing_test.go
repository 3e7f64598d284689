package link_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/link"
	"github.com/pawl-run/pawl/link/linktest"
)

// unread is a store of which nobody reads a log or a history.
type unread struct {
	journal.Store
	t testing.TB
}

func (u unread) EventPage(context.Context, execution.ID, execution.Sequence, int) (journal.EventPage, error) {
	u.t.Error("a log was read")
	return journal.EventPage{}, nil
}

func (u unread) Messages(context.Context, execution.ID, int, int) ([][]byte, error) {
	u.t.Error("a history was read")
	return nil, nil
}

// A look says where log and history end without reading them, and shows what a link shows.
func TestStanding_SaysWhereLogAndHistoryEnd(t *testing.T) {
	t.Parallel()
	store := memory(t)
	s, looking := service(t, store), service(t, unread{store, t})
	owner := execution.Authority{Caller: execution.CallerScope{Tenant: "one", Subject: "ann"}, Role: execution.SubmitRole}
	created, err := s.As(owner).Create(t.Context(), "", execution.CreateRequest{
		Agent: "demo", Input: execution.Input{Type: execution.UserMessage, Text: "hello"},
	})
	require.NoError(t, err)
	w := linktest.Claim(t, store, created.View.ID)
	w.Say(`{"role":"assistant","text":"hi"}`, `{"role":"assistant","text":"there"}`)
	w.Warnings(250)
	for range 2 {
		view, err := s.As(owner).Execution(t.Context(), created.View.ID)
		require.NoError(t, err)
		events, err := s.As(owner).Events(t.Context(), created.View.ID, 0, link.MaxLimit)
		require.NoError(t, err)
		messages, err := s.As(owner).Messages(t.Context(), created.View.ID, 0, link.MaxLimit)
		require.NoError(t, err)
		standing, err := looking.Standing(t.Context(), owner, created.View.ID)
		require.NoError(t, err)
		require.Equal(t, link.Standing{View: view, Last: events.NextAfter, Messages: len(messages.Messages)}, standing)
		if !view.State.Terminal() {
			w.Complete("done")
		}
	}
	for _, other := range []execution.Authority{
		{Caller: execution.CallerScope{Tenant: "two", Subject: "ann"}, Role: execution.OperateRole},
		{Caller: execution.CallerScope{Tenant: "one", Subject: "bob"}, Role: execution.SubmitRole},
	} {
		_, wanted := s.As(other).Execution(t.Context(), created.View.ID)
		_, err = s.Standing(t.Context(), other, created.View.ID)
		require.Error(t, err)
		require.Equal(t, wanted, err)
	}
}
