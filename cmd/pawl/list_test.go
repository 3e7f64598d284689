package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

func listedViews() []execution.View {
	ms := time.Date(2026, 1, 31, 8, 0, 0, 0, time.Local).UnixMilli()
	view := func(id execution.ID, agent string, state execution.State) execution.View {
		return execution.View{ID: id, Agent: agent, State: state, CreatedAtMs: ms, UpdatedAtMs: ms + 1000}
	}
	completed, waits := view("exec_3", "demo", execution.Completed), view("exec_2", "a longer name", execution.WaitingForInput)
	suspended, failed := view("exec_1", "demo", execution.Suspended), view("exec_0", "demo", execution.Failed)
	completed.Outcome = &execution.Outcome{Answer: "two\nlines \x1b[31m" + strings.Repeat("y", 60)}
	waits.Interaction = &execution.Interaction{Prompt: "Book it?"}
	suspended.Suspension = &execution.Suspension{Reason: execution.ReasonPaused}
	failed.Failure = &execution.Failure{Code: "internal", Message: "it broke"}
	return []execution.View{completed, waits, suspended, failed}
}

func TestList_PrintsATable(t *testing.T) {
	t.Parallel()
	fake := newFake(execution.View{})
	fake.pages = []execution.ListPage{{Executions: listedViews()}}
	got := typeCommand(t, fake, false, nil, "list")
	require.Equal(t, result{out: strings.TrimPrefix(`
ID      STATE              AGENT          CREATED              CHANGED              ABOUT
exec_3  completed          demo           2026-01-31 08:00:00  2026-01-31 08:00:01  two lines [31m`+strings.Repeat("y", 36)+`…
exec_2  waiting_for_input  a longer name  2026-01-31 08:00:00  2026-01-31 08:00:01  Book it?
exec_1  suspended          demo           2026-01-31 08:00:00  2026-01-31 08:00:01  paused
exec_0  failed             demo           2026-01-31 08:00:00  2026-01-31 08:00:01  internal: it broke
`, "\n")}, got)
	require.Equal(t, []execution.ListQuery{{Limit: 50}}, fake.listed)
}

func TestList_FollowsThePagesAsFarAsAsked(t *testing.T) {
	t.Parallel()
	views := listedViews()
	pages := []execution.ListPage{
		{Executions: views[:1], NextCursor: "a"},
		{NextCursor: "b"},
		{Executions: views[1:3], NextCursor: "c"},
		{Executions: views[3:]},
	}
	fake := newFake(execution.View{})
	fake.pages = pages
	got := typeCommand(t, fake, true, nil, "list", "--limit", "3", "--json", "--state", "queued", "--agent", "demo",
		"--conversation", "mine", "--metadata", "a=b=c", "--updated-since", "2026-01-31T08:00:00Z")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.err, "--all")
	var ids []execution.ID
	for line := range strings.Lines(got.out) {
		var view execution.View
		require.NoError(t, json.Unmarshal([]byte(line), &view))
		ids = append(ids, view.ID)
	}
	require.Equal(t, []execution.ID{"exec_3", "exec_2", "exec_1"}, ids)
	require.Equal(t, execution.ListQuery{
		State: execution.Queued, Agent: "demo", ConversationID: "mine", Metadata: map[string]string{"a": "b=c"}, Limit: 3,
		UpdatedSinceMs: time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC).UnixMilli(),
	}, fake.listed[0])
	require.Equal(t, "b", fake.listed[2].Cursor)
	require.Equal(t, 2, fake.listed[2].Limit)

	fake = newFake(execution.View{})
	fake.pages = pages
	got = typeCommand(t, fake, true, nil, "list", "--all")
	require.Empty(t, got.err)
	require.Equal(t, 5, strings.Count(got.out, "\n"))
	require.Len(t, fake.listed, 4)
}

func TestList_SinceIsADurationOrAnInstant(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_764_420_000_000)
	asked := filter{since: "90m"}
	query, err := asked.query(now)
	require.NoError(t, err)
	require.Equal(t, now.Add(-90*time.Minute).UnixMilli(), query.UpdatedSinceMs)
	asked.since = "-1h"
	_, err = asked.query(now)
	require.ErrorContains(t, err, "--updated-since")
}
