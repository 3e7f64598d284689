package linktest

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/link"
)

// labeled submits n executions with a label.
func labeled(t *testing.T, l link.RuntimeLink, label string, n int) []execution.ID {
	t.Helper()
	var ids []execution.ID
	for range n {
		request := Request("hello")
		request.Metadata = map[string]string{"label": label}
		created, err := l.Create(bounded(t), "", request)
		require.NoError(t, err)
		ids = append(ids, created.View.ID)
	}
	return ids
}

func bulk(t *testing.T, l link.RuntimeLink, request execution.BulkRequest) execution.BulkResult {
	t.Helper()
	result, err := l.Bulk(bounded(t), request)
	require.NoError(t, err)
	return result
}

func withLabel(label string) execution.BulkFilter {
	return execution.BulkFilter{Metadata: map[string]string{"label": label}}
}

func bulkCancels(t *testing.T, h Harness) {
	meant, others := labeled(t, h.Local(), "a", 5), labeled(t, h.Local(), "b", 2)
	Claim(t, h.Store, meant[0])
	Claim(t, h.Store, meant[1]).Complete("done")
	request := execution.BulkRequest{Action: execution.BulkCancel, Filter: withLabel("a"), DryRun: true}
	var foreseen execution.BulkResult
	unchanged(t, h, func() { foreseen = bulk(t, h.Local(), request) })
	require.Equal(t, 4, foreseen.Matched, "what has ended is not meant")
	require.Equal(t, 4, foreseen.Changed)
	request.DryRun = false
	done := bulk(t, h.Local(), request)
	require.Equal(t, foreseen, done, "a dry run foresees what is done")
	for i, id := range meant {
		view, err := h.Local().Execution(bounded(t), id)
		require.NoError(t, err)
		switch i {
		case 0:
			require.True(t, view.CancelRequested)
		case 1:
			require.Equal(t, execution.Completed, view.State)
		default:
			require.Equal(t, execution.Canceled, view.State)
		}
	}
	for _, id := range others {
		view, err := h.Local().Execution(bounded(t), id)
		require.NoError(t, err)
		require.Equal(t, execution.Queued, view.State)
	}
	unchanged(t, h, func() {
		again := bulk(t, h.Local(), request)
		require.Equal(t, []execution.ID{meant[0]}, again.Executions)
		require.Zero(t, again.Changed, "it is asked to already")
		request.DryRun = true
		require.Zero(t, bulk(t, h.Local(), request).Changed)
	})
}

func bulkResumes(t *testing.T, h Harness) {
	ids := labeled(t, h.Local(), "a", 3)
	for _, id := range ids[:2] {
		pause(t, h.Local(), id, true, execution.Suspended)
	}
	for _, filter := range []execution.BulkFilter{withLabel("a"), {Agent: "demo", State: execution.Suspended}} {
		request := execution.BulkRequest{Action: execution.BulkResume, Filter: filter, DryRun: true}
		var foreseen execution.BulkResult
		unchanged(t, h, func() { foreseen = bulk(t, h.Local(), request) })
		require.Equal(t, 2, foreseen.Matched, "what is not suspended is not meant")
		require.ElementsMatch(t, ids[:2], foreseen.Executions)
	}
	done := bulk(t, h.Local(), execution.BulkRequest{Action: execution.BulkResume, Filter: withLabel("a")})
	require.Equal(t, 2, done.Changed)
	for _, id := range ids {
		resume(t, h.Local(), id, false, execution.Queued)
	}
}

func bulkPages(t *testing.T, h Harness) {
	ids := labeled(t, h.Local(), "a", 7)
	request := execution.BulkRequest{Action: execution.BulkCancel, Filter: withLabel("a"), Limit: 3}
	var all []execution.ID
	for {
		result := bulk(t, h.Local(), request)
		require.LessOrEqual(t, result.Matched, 3)
		all = append(all, result.Executions...)
		if request.Cursor = result.NextCursor; request.Cursor == "" {
			break
		}
	}
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(all))), 7)
	require.ElementsMatch(t, ids, all)
}

func bulkScope(t *testing.T, h Harness) {
	as := func(tenant, subject string, role execution.CallerRole) link.RuntimeLink {
		return h.As(execution.Authority{Caller: execution.CallerScope{Tenant: tenant, Subject: subject}, Role: role})
	}
	ann := as("default", "ann", execution.SubmitRole)
	annas, bobs := labeled(t, ann, "a", 2), labeled(t, as("default", "bob", execution.SubmitRole), "a", 2)
	request := execution.BulkRequest{Action: execution.BulkCancel, Filter: withLabel("a"), DryRun: true}
	require.ElementsMatch(t, annas, bulk(t, ann, request).Executions)
	operator := as("default", "eve", execution.OperateRole)
	require.ElementsMatch(t, append(annas, bobs...), bulk(t, operator, request).Executions)
	require.Zero(t, bulk(t, as("acme", "ann", execution.OperateRole), request).Matched)
	_, err := as("default", "ann", execution.ReadRole).Bulk(bounded(t), request)
	require.ErrorIs(t, err, execution.ErrForbidden)

	request.Limit = 1
	cursor := bulk(t, operator, request).NextCursor
	require.NotEmpty(t, cursor)
	for name, change := range map[string]func(*execution.BulkRequest){
		"another action": func(r *execution.BulkRequest) { r.Action = execution.BulkResume },
		"another filter": func(r *execution.BulkRequest) { r.Filter = withLabel("b") },
	} {
		other := request
		other.Cursor = cursor
		change(&other)
		_, err := operator.Bulk(bounded(t), other)
		Refused(t, err, execution.InvalidRequest, "cursor")
		require.Error(t, err, name)
	}
	request.Cursor = cursor
	_, err = as("acme", "eve", execution.OperateRole).Bulk(bounded(t), request)
	Refused(t, err, execution.InvalidRequest, "cursor")
}

func bulkRefusals(t *testing.T, h Harness) {
	labeled(t, h.Local(), "a", 1)
	all := withLabel("a")
	state := func(state execution.State) execution.BulkFilter { return execution.BulkFilter{State: state} }
	for _, c := range []struct {
		request execution.BulkRequest
		field   string
	}{
		{execution.BulkRequest{Filter: all}, "action"},
		{execution.BulkRequest{Action: "pause", Filter: all}, "action"},
		{execution.BulkRequest{Action: execution.BulkCancel}, "filter"},
		{execution.BulkRequest{Action: execution.BulkCancel, Filter: state("tired")}, "filter.state"},
		{execution.BulkRequest{Action: execution.BulkCancel, Filter: state(execution.Failed)}, "filter.state"},
		{execution.BulkRequest{Action: execution.BulkCancel, Filter: state(execution.Finalizing)}, "filter.state"},
		{execution.BulkRequest{Action: execution.BulkResume, Filter: state(execution.Running)}, "filter.state"},
		{execution.BulkRequest{Action: execution.BulkCancel, Filter: execution.BulkFilter{ConversationID: "a b"}}, "filter.conversationId"},
		{execution.BulkRequest{Action: execution.BulkCancel, Filter: execution.BulkFilter{UpdatedSinceMs: -1}}, "filter.updatedSinceMs"},
		{execution.BulkRequest{Action: execution.BulkCancel, Filter: all, Limit: 1001}, "limit"},
		{execution.BulkRequest{Action: execution.BulkCancel, Filter: all, Limit: -1}, "limit"},
		{execution.BulkRequest{Action: execution.BulkCancel, Filter: all, Cursor: "zzz"}, "cursor"},
	} {
		unchanged(t, h, func() {
			_, err := h.Local().Bulk(bounded(t), c.request)
			Refused(t, err, execution.InvalidRequest, c.field)
		})
	}
}

// bulkUnderChurn: what ends, or is answered otherwise, while a bulk call is at work is refused for itself.
func bulkUnderChurn(t *testing.T, h Harness) {
	ids := labeled(t, h.Local(), "a", 40)
	for _, id := range ids {
		pause(t, h.Local(), id, true, execution.Suspended)
	}
	var group sync.WaitGroup
	group.Go(func() {
		for _, id := range ids[:20] {
			_, _ = h.Local().Cancel(bounded(t), id) // the answer does not matter: it races
		}
	})
	result := bulk(t, h.Local(), execution.BulkRequest{Action: execution.BulkResume, Filter: withLabel("a")})
	group.Wait()
	require.Equal(t, result.Matched, len(result.Executions)+len(result.Failed), "each is told of once")
	require.LessOrEqual(t, result.Changed, len(result.Executions))
	for _, failure := range result.Failed {
		require.Equal(t, execution.ExecutionEnded, failure.Code, fmt.Sprint(failure))
		require.Contains(t, ids[:20], failure.ID)
	}
	for _, id := range ids[20:] {
		view, err := h.Local().Execution(bounded(t), id)
		require.NoError(t, err)
		require.Equal(t, execution.Queued, view.State, "those that nobody touched were resumed")
	}
}
