package linktest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/link"
)

func deleteEnded(t *testing.T, h Harness) {
	kept := submit(t, h.Local())
	request := Request("hello")
	request.ConversationID = "a-conversation" // the key's partition is another one
	for _, request := range []execution.CreateRequest{request, Request("hello")} {
		key := "key of " + string(request.ConversationID)
		created, err := h.Local().Create(bounded(t), key, request)
		require.NoError(t, err)
		id := created.View.ID
		Claim(t, h.Store, id).Complete("done")
		require.NoError(t, h.Local().Delete(bounded(t), id))
		for name, err := range reads(t, h.Local(), id) {
			require.ErrorIs(t, err, execution.ErrNotFound, name)
		}
		page, err := h.Local().List(bounded(t), execution.ListQuery{})
		require.NoError(t, err)
		require.Len(t, page.Executions, 1)
		require.Equal(t, kept, page.Executions[0].ID)
		unchanged(t, h, func() {
			require.ErrorIs(t, h.Local().Delete(bounded(t), id), execution.ErrNotFound, "repeated")
			_, err := h.Local().Create(bounded(t), key, request)
			Refused(t, err, execution.Gone, "Idempotency-Key")
			other := request
			other.Input.Text = "something else"
			_, err = h.Local().Create(bounded(t), key, other)
			require.ErrorIs(t, err, execution.ErrGone)
		})
	}
	_, err := h.Local().Create(bounded(t), "", request)
	require.NoError(t, err, "the conversation went with it, and its name is free")
}

func deleteOpen(t *testing.T, h Harness) {
	queued, running, paused, finalizing := submit(t, h.Local()), submit(t, h.Local()), submit(t, h.Local()), submit(t, h.Local())
	Claim(t, h.Store, running)
	pause(t, h.Local(), paused, true, execution.Suspended)
	Claim(t, h.Store, finalizing).Finalize()
	for _, id := range []execution.ID{queued, running, paused, finalizing, asked(t, h, Elicitation("question"))} {
		unchanged(t, h, func() {
			require.Contains(t, Refused(t, h.Local().Delete(bounded(t), id), execution.Conflict, "id"), "it must have ended")
		})
	}
}

func deleteCleanup(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	w := Claim(t, h.Store, id)
	hold := journal.Hold{Execution: id, Fence: w.claim.Fence, Operation: 1}
	_, err := h.Store.AttachDelegation(bounded(t), hold, journal.Delegation{LeaseRef: "lease", Revision: 1})
	require.NoError(t, err)
	hold.Operation++
	_, err = h.Store.Finish(bounded(t), hold, execution.States(), journal.Ending{State: execution.Canceled})
	require.NoError(t, err)
	unchanged(t, h, func() {
		require.Contains(t, Refused(t, h.Local().Delete(bounded(t), id), execution.Conflict, "id"), "clean-up")
	})
	_, err = h.Store.CompleteDelegationCleanup(bounded(t), id, "lease")
	require.NoError(t, err)
	require.NoError(t, h.Local().Delete(bounded(t), id))
}

func deleteRoles(t *testing.T, h Harness) {
	as := func(tenant, subject string, role execution.CallerRole) link.RuntimeLink {
		return h.As(execution.Authority{Caller: execution.CallerScope{Tenant: tenant, Subject: subject}, Role: role})
	}
	ended := func() execution.ID {
		id := submit(t, as("default", "ann", execution.SubmitRole))
		_, err := h.Local().Cancel(bounded(t), id)
		require.NoError(t, err)
		return id
	}
	id := ended()
	unchanged(t, h, func() {
		for _, l := range []link.RuntimeLink{
			as("default", "bob", execution.SubmitRole), as("default", "bob", execution.ReadRole),
			as("default", "ann", execution.ReadRole),
		} {
			require.ErrorIs(t, l.Delete(bounded(t), id), execution.ErrForbidden)
		}
		require.ErrorIs(t, as("acme", "ann", execution.OperateRole).Delete(bounded(t), id), execution.ErrNotFound)
		require.ErrorIs(t, h.Local().Delete(bounded(t), "exec_1"), execution.ErrInvalid)
	})
	require.NoError(t, as("default", "ann", execution.SubmitRole).Delete(bounded(t), id))
	require.NoError(t, as("default", "bob", execution.OperateRole).Delete(bounded(t), ended()))
}
