package linktest

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/link"
)

// walk follows a listing to its end and gives the ids.
func walk(t testing.TB, l link.RuntimeLink, query execution.ListQuery) []execution.ID {
	t.Helper()
	ids := []execution.ID{}
	for range 100 {
		page, err := l.List(bounded(t), query)
		require.NoError(t, err)
		for _, view := range page.Executions {
			ids = append(ids, view.ID)
		}
		if query.Cursor = page.NextCursor; query.Cursor == "" {
			return ids
		}
	}
	require.Fail(t, "the listing does not end")
	return nil
}

func listPages(t *testing.T, h Harness) {
	page, err := h.Local().List(bounded(t), execution.ListQuery{})
	require.NoError(t, err)
	require.Equal(t, execution.ListPage{Executions: []execution.View{}}, page)
	var want []execution.ID
	for range 7 {
		want = append(want, submit(t, h.Local()))
	}
	all := walk(t, h.Local(), execution.ListQuery{})
	require.ElementsMatch(t, want, all)
	for _, limit := range []int{1, 3, 7, 1_000_000} {
		require.Equal(t, all, walk(t, h.Local(), execution.ListQuery{Limit: limit}))
	}
	first, err := h.Local().List(bounded(t), execution.ListQuery{Limit: 3})
	require.NoError(t, err)
	require.Len(t, first.Executions, 3)
	view, err := h.Local().Execution(bounded(t), first.Executions[0].ID)
	require.NoError(t, err)
	require.Equal(t, view, first.Executions[0], "the view is whole")
	newer := submit(t, h.Local())
	rest := walk(t, h.Local(), execution.ListQuery{Limit: 3, Cursor: first.NextCursor})
	rest = slices.DeleteFunc(rest, func(id execution.ID) bool { return id == newer }) // when it is of the same millisecond
	require.Equal(t, all[3:], rest, "what came meanwhile moves nothing")
	require.Contains(t, walk(t, h.Local(), execution.ListQuery{}), newer)
}

func listFilters(t *testing.T, h Harness) {
	request := Request("hello")
	request.ConversationID, request.Metadata = "ticket-42", map[string]string{"order": "7", "a.b c&d=": "ü %"}
	created, err := h.Local().Create(bounded(t), "", request)
	require.NoError(t, err)
	other := submit(t, h.Local())
	w := Claim(t, h.Store, created.View.ID)
	w.Complete("done")
	view, err := h.Local().Execution(bounded(t), created.View.ID)
	require.NoError(t, err)
	mine := []execution.ID{created.View.ID}
	for _, query := range []execution.ListQuery{
		{State: execution.Completed},
		{ConversationID: "ticket-42"},
		{Metadata: map[string]string{"order": "7"}},
		{Metadata: map[string]string{"order": "7", "a.b c&d=": "ü %"}},
		{State: execution.Completed, Agent: "demo", ConversationID: "ticket-42", UpdatedSinceMs: view.UpdatedAtMs},
	} {
		require.Equal(t, mine, walk(t, h.Local(), query), "%+v", query)
	}
	require.Equal(t, []execution.ID{other}, walk(t, h.Local(), execution.ListQuery{State: execution.Queued}))
	require.Len(t, walk(t, h.Local(), execution.ListQuery{Agent: "demo"}), 2)
	for _, query := range []execution.ListQuery{
		{Agent: "nobody"},
		{State: execution.Failed},
		{ConversationID: "ticket-43"},
		{Metadata: map[string]string{"order": "8"}},
		{UpdatedSinceMs: view.UpdatedAtMs + 3_600_000},
	} {
		require.Empty(t, walk(t, h.Local(), query), "%+v", query)
	}
}

func listScope(t *testing.T, h Harness) {
	as := func(tenant, subject string, role execution.CallerRole) link.RuntimeLink {
		return h.As(execution.Authority{Caller: execution.CallerScope{Tenant: tenant, Subject: subject}, Role: role})
	}
	ann, bob := submit(t, as("acme", "ann", execution.SubmitRole)), submit(t, as("acme", "bob", execution.OperateRole))
	other := submit(t, as("other", "ann", execution.SubmitRole))
	for _, query := range []execution.ListQuery{{}, {State: execution.Queued}, {Agent: "demo"}} {
		require.Equal(t, []execution.ID{ann}, walk(t, as("acme", "ann", execution.SubmitRole), query))
		require.Equal(t, []execution.ID{bob}, walk(t, as("acme", "bob", execution.SubmitRole), query))
		require.Empty(t, walk(t, as("acme", "cyd", execution.SubmitRole), query))
		for _, role := range []execution.CallerRole{execution.ReadRole, execution.OperateRole} {
			require.ElementsMatch(t, []execution.ID{ann, bob}, walk(t, as("acme", "cyd", role), query), "%s", role)
			require.Equal(t, []execution.ID{other}, walk(t, as("other", "cyd", role), query), "%s", role)
			require.Empty(t, walk(t, as("nobody", "ann", role), query), "%s", role)
		}
	}
	view, err := as("other", "ann", execution.SubmitRole).Execution(bounded(t), other)
	require.NoError(t, err)
	foreign := execution.ListQuery{ConversationID: view.ConversationID}
	require.Empty(t, walk(t, as("acme", "ann", execution.OperateRole), foreign), "another tenant's conversation")
	require.Equal(t, []execution.ID{other}, walk(t, as("other", "cyd", execution.ReadRole), foreign))
	_, err = as("acme", "ann", "").List(bounded(t), execution.ListQuery{})
	require.ErrorIs(t, err, execution.ErrForbidden)
}

func listRefusals(t *testing.T, h Harness) {
	submit(t, h.Local())
	submit(t, h.Local())
	page, err := h.Local().List(bounded(t), execution.ListQuery{Limit: 1})
	require.NoError(t, err)
	require.NotEmpty(t, page.NextCursor)
	tooMany := map[string]string{}
	for i := range 17 {
		tooMany[strings.Repeat("k", i+1)] = ""
	}
	unchanged(t, h, func() {
		for _, c := range []struct {
			field string
			query execution.ListQuery
		}{
			{"state", execution.ListQuery{State: "dreaming"}},
			{"conversationId", execution.ListQuery{ConversationID: "conv_1"}},
			{"conversationId", execution.ListQuery{ConversationID: "a b"}},
			{"metadata", execution.ListQuery{Metadata: tooMany}},
			{"metadata", execution.ListQuery{Metadata: map[string]string{strings.Repeat("k", 65): "v"}}},
			{"metadata.k", execution.ListQuery{Metadata: map[string]string{"k": strings.Repeat("v", 513)}}},
			{"updatedSince", execution.ListQuery{UpdatedSinceMs: -1}},
			{"limit", execution.ListQuery{Limit: -1}},
			{"cursor", execution.ListQuery{Cursor: "x"}},
			{"cursor", execution.ListQuery{Cursor: "%"}},
			{"cursor", execution.ListQuery{Cursor: page.NextCursor[1:]}},
			{"cursor", execution.ListQuery{Cursor: "A" + page.NextCursor[1:]}},
			{"cursor", execution.ListQuery{Cursor: page.NextCursor + "AAAA"}},
			{"cursor", execution.ListQuery{Cursor: page.NextCursor, State: execution.Queued}},
		} {
			_, err := h.Local().List(bounded(t), c.query)
			Refused(t, err, execution.InvalidRequest, c.field)
		}
		for _, authority := range []execution.Authority{
			{Caller: execution.CallerScope{Tenant: "acme", Subject: "local"}, Role: execution.OperateRole},
			{Caller: execution.CallerScope{Tenant: "default", Subject: "ann"}, Role: execution.OperateRole},
			{Caller: execution.LocalCaller(), Role: execution.SubmitRole},
		} {
			_, err := h.As(authority).List(bounded(t), execution.ListQuery{Cursor: page.NextCursor})
			Refused(t, err, execution.InvalidRequest, "cursor")
		}
	})
}
