package linktest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/link"
)

func onCall(h Harness, role execution.CallerRole) link.RuntimeLink {
	return h.As(execution.Authority{
		Caller: execution.CallerScope{Tenant: execution.AllTenants, Subject: "on-call"}, Role: role,
	})
}

func as(h Harness, tenant, subject string, role execution.CallerRole) link.RuntimeLink {
	return h.As(execution.Authority{Caller: execution.CallerScope{Tenant: tenant, Subject: subject}, Role: role})
}

// onCallSees: a caller of all tenants sees every execution, steers it with role operate, and owns none.
func onCallSees(t *testing.T, h Harness) {
	ann := submit(t, as(h, "acme", "ann", execution.SubmitRole))
	eve := submit(t, as(h, "other", "eve", execution.SubmitRole))
	unchanged(t, h, func() {
		for _, role := range []execution.CallerRole{execution.ReadRole, execution.OperateRole} {
			for _, id := range []execution.ID{ann, eve} {
				for name, err := range reads(t, onCall(h, role), id) {
					require.NoError(t, err, name)
				}
			}
			for _, query := range []execution.ListQuery{{}, {State: execution.Queued}, {Agent: "demo"}, {Limit: 1}} {
				require.ElementsMatch(t, []execution.ID{ann, eve}, walk(t, onCall(h, role), query), "%+v", query)
			}
			require.Empty(t, walk(t, onCall(h, role), execution.ListQuery{State: execution.Failed}))
			_, err := onCall(h, role).Create(bounded(t), "", Request("hello"))
			require.ErrorIs(t, err, execution.ErrForbidden)
		}
		for name, err := range steers(t, onCall(h, execution.ReadRole), ann) {
			require.ErrorIs(t, err, execution.ErrForbidden, name)
		}
		for name, err := range reads(t, onCall(h, execution.SubmitRole), ann) {
			require.ErrorIs(t, err, execution.ErrForbidden, name)
		}
		require.Empty(t, walk(t, onCall(h, execution.SubmitRole), execution.ListQuery{}))
	})
	view, err := as(h, "other", "eve", execution.SubmitRole).Execution(bounded(t), eve)
	require.NoError(t, err)
	talk := execution.ListQuery{ConversationID: view.ConversationID}
	require.Equal(t, []execution.ID{eve}, walk(t, onCall(h, execution.ReadRole), talk))
	steered, err := onCall(h, execution.OperateRole).Cancel(bounded(t), eve)
	require.NoError(t, err)
	require.True(t, steered.Changed)
	require.Equal(t, []execution.ID{eve}, walk(t, onCall(h, execution.ReadRole), execution.ListQuery{State: execution.Canceled}))
	require.Equal(t, []execution.ID{ann}, walk(t, onCall(h, execution.ReadRole), execution.ListQuery{State: execution.Queued}))
}

// placesBelong: what one caller was given of a listing or of a log opens nothing for another one.
func placesBelong(t *testing.T, h Harness) {
	ann := as(h, "acme", "ann", execution.SubmitRole)
	id := submit(t, ann)
	submit(t, ann)
	page, err := ann.List(bounded(t), execution.ListQuery{Limit: 1})
	require.NoError(t, err)
	require.NotEmpty(t, page.NextCursor)
	unchanged(t, h, func() {
		for _, stranger := range []link.RuntimeLink{
			as(h, "acme", "bob", execution.SubmitRole), as(h, "acme", "ann", execution.OperateRole),
			as(h, "other", "ann", execution.SubmitRole), onCall(h, execution.ReadRole),
		} {
			_, err := stranger.List(bounded(t), execution.ListQuery{Limit: 1, Cursor: page.NextCursor})
			Refused(t, err, execution.InvalidRequest, "cursor")
		}
		for stranger, want := range map[link.RuntimeLink]error{
			as(h, "acme", "bob", execution.SubmitRole):    execution.ErrForbidden,
			as(h, "other", "ann", execution.OperateRole):  execution.ErrNotFound,
			as(h, "other", "ann", execution.SubmitRole):   execution.ErrNotFound,
			as(h, execution.AllTenants, "ann", "another"): execution.ErrForbidden,
		} {
			_, err := stranger.Follow(bounded(t), id, 1)
			require.ErrorIs(t, err, want)
			_, err = stranger.Events(bounded(t), id, 1, 10)
			require.ErrorIs(t, err, want)
		}
	})
	again := as(h, "acme", "ann", execution.SubmitRole)
	_, err = again.List(bounded(t), execution.ListQuery{Limit: 1, Cursor: page.NextCursor})
	require.NoError(t, err, "it is the caller's, whichever key it shows")
	operator := as(h, "acme", "bob", execution.OperateRole)
	page, err = operator.List(bounded(t), execution.ListQuery{Limit: 1})
	require.NoError(t, err)
	_, err = onCall(h, execution.OperateRole).List(bounded(t), execution.ListQuery{Limit: 1, Cursor: page.NextCursor})
	Refused(t, err, execution.InvalidRequest, "cursor")
}
