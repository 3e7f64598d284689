package linktest

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/link"
)

// inTalk is a submission to a conversation.
func inTalk(id execution.ConversationID, busy execution.OnBusy) execution.CreateRequest {
	request := Request("hello")
	request.ConversationID, request.OnBusy = id, busy
	return request
}

func everyOnBusy() []execution.OnBusy {
	return []execution.OnBusy{"", execution.BusyReject, execution.BusyEnqueue, execution.BusyInterrupt, execution.BusyRollback}
}

// heard is how many messages the execution sees.
func heard(t *testing.T, l link.RuntimeLink, id execution.ID) int {
	t.Helper()
	page, err := l.Messages(bounded(t), id, 0, 100)
	require.NoError(t, err)
	return len(page.Messages)
}

// chosenAlike: whatever another tenant does with the same id, a tenant is answered as if it were alone.
func chosenAlike(t *testing.T, h Harness) {
	acme, eve := as(h, "acme", "ann", execution.SubmitRole), as(h, "acme:eu", "ann", execution.SubmitRole)
	for _, busy := range everyOnBusy() {
		id := execution.ConversationID("ticket:42-" + busy)
		first, err := eve.Create(bounded(t), "", inTalk(id, busy))
		require.NoError(t, err, "squatted")
		mine, err := acme.Create(bounded(t), "", inTalk(id, busy))
		require.NoError(t, err)
		require.Equal(t, id, mine.View.ConversationID)
		require.Nil(t, mine.View.Wait, "nobody is before it")
		require.Equal(t, 1, heard(t, acme, mine.View.ID))
		theirs, err := eve.Execution(bounded(t), first.View.ID)
		require.NoError(t, err)
		require.Equal(t, first.View, theirs, "neither interrupted nor kept waiting")
		for tenant, want := range map[link.RuntimeLink]execution.ID{acme: mine.View.ID, eve: first.View.ID} {
			require.Equal(t, []execution.ID{want}, walk(t, tenant, execution.ListQuery{ConversationID: id}))
			_, err := tenant.Create(bounded(t), "", inTalk(id, ""))
			Refused(t, err, execution.ConversationBusy, "conversationId")
		}
	}
	for _, key := range []string{"k1", "k2", "k3"} { // of several partitions
		first, err := eve.Create(bounded(t), key, inTalk("keyed", execution.BusyEnqueue))
		require.NoError(t, err)
		mine, err := acme.Create(bounded(t), key, inTalk("keyed", execution.BusyEnqueue))
		require.NoError(t, err)
		require.NotEqual(t, first.View.ID, mine.View.ID)
		again, err := acme.Create(bounded(t), key, inTalk("keyed", execution.BusyEnqueue))
		require.NoError(t, err)
		require.True(t, again.Replayed)
		require.Equal(t, mine.View.ID, again.View.ID)
	}
}

// mintedContinues: guessing tells nothing, and what was guessed cannot be taken before its owner has it.
func mintedContinues(t *testing.T, h Harness) {
	acme, eve := as(h, "acme", "ann", execution.SubmitRole), as(h, "other", "eve", execution.OperateRole)
	created, err := acme.Create(bounded(t), "", Request("hello"))
	require.NoError(t, err)
	owned := created.View.ConversationID
	nobodys := execution.NewConversationID(owned.Partition("acme"))
	derived := execution.DerivedConversationID(7, execution.CallerScope{Tenant: "acme", Subject: "ann"}, "order-7")
	require.True(t, owned.Minted())
	unchanged(t, h, func() {
		for _, busy := range everyOnBusy() {
			for _, key := range []string{"", "k1"} {
				answer := func(l link.RuntimeLink, id execution.ConversationID) execution.APIError {
					_, err := l.Create(bounded(t), key, inTalk(id, busy))
					Refused(t, err, execution.InvalidRequest, "conversationId")
					var problem *execution.APIError
					require.True(t, errors.As(err, &problem))
					return execution.APIError{Code: problem.Code, Detail: problem.Detail, Field: problem.Field}
				}
				want := answer(acme, nobodys)
				for _, id := range []execution.ConversationID{owned, nobodys, derived} {
					require.Equal(t, want, answer(eve, id), "%s %s", busy, id)
				}
			}
		}
		for _, id := range []execution.ConversationID{owned, nobodys} {
			page, err := eve.List(bounded(t), execution.ListQuery{ConversationID: id})
			require.NoError(t, err)
			require.Equal(t, execution.ListPage{Executions: []execution.View{}}, page)
			result, err := eve.Bulk(bounded(t), execution.BulkRequest{
				Action: execution.BulkCancel, Filter: execution.BulkFilter{ConversationID: id},
			})
			require.NoError(t, err)
			require.Zero(t, result.Matched)
		}
	})
	Claim(t, h.Store, created.View.ID).Complete("done")
	next, err := acme.Create(bounded(t), "", inTalk(owned, ""))
	require.NoError(t, err, "its own goes on")
	require.Equal(t, owned, next.View.ConversationID)
	require.Equal(t, 2, heard(t, acme, next.View.ID))
	_, err = acme.Cancel(bounded(t), next.View.ID)
	require.NoError(t, err)
	for _, id := range []execution.ID{created.View.ID, next.View.ID} {
		require.NoError(t, acme.Delete(bounded(t), id))
	}
	_, err = acme.Create(bounded(t), "", inTalk(owned, ""))
	Refused(t, err, execution.InvalidRequest, "conversationId")
}

func conversationShared(t *testing.T, h Harness) {
	ann, bob := as(h, "acme", "ann", execution.SubmitRole), as(h, "acme", "bob", execution.SubmitRole)
	minted, err := ann.Create(bounded(t), "", Request("hello"))
	require.NoError(t, err)
	chosen, err := ann.Create(bounded(t), "", inTalk("talk", ""))
	require.NoError(t, err)
	for _, view := range []execution.View{minted.View, chosen.View} {
		_, err := bob.Create(bounded(t), "", inTalk(view.ConversationID, ""))
		Refused(t, err, execution.ConversationBusy, "conversationId")
		next, err := bob.Create(bounded(t), "", inTalk(view.ConversationID, execution.BusyInterrupt))
		require.NoError(t, err)
		require.Equal(t, 2, heard(t, bob, next.View.ID))
		require.Equal(t, []execution.ID{next.View.ID}, walk(t, bob, execution.ListQuery{ConversationID: view.ConversationID}))
		operator := as(h, "acme", "cyd", execution.OperateRole)
		require.Len(t, walk(t, operator, execution.ListQuery{ConversationID: view.ConversationID}), 2)
	}
}

func conversationsOfAll(t *testing.T, h Harness) {
	var all []execution.ID
	for _, tenant := range []string{"acme", "other", "other"} {
		created, err := as(h, tenant, "ann", execution.SubmitRole).Create(bounded(t), "", inTalk("ticket:42", execution.BusyEnqueue))
		require.NoError(t, err)
		all = append(all, created.View.ID)
	}
	_, err := as(h, "acme", "ann", execution.SubmitRole).Create(bounded(t), "", inTalk("ticket:421", ""))
	require.NoError(t, err)
	for _, role := range []execution.CallerRole{execution.ReadRole, execution.OperateRole} {
		for _, limit := range []int{1, 100} {
			query := execution.ListQuery{ConversationID: "ticket:42", Limit: limit}
			require.ElementsMatch(t, all, walk(t, onCall(h, role), query))
			query.State = execution.Queued
			require.ElementsMatch(t, all, walk(t, onCall(h, role), query))
		}
		require.Empty(t, walk(t, onCall(h, role), execution.ListQuery{ConversationID: "ticket"}))
	}
	result, err := onCall(h, execution.OperateRole).Bulk(bounded(t), execution.BulkRequest{
		Action: execution.BulkCancel, Filter: execution.BulkFilter{ConversationID: "ticket:42"},
	})
	require.NoError(t, err)
	require.Equal(t, 3, result.Matched)
	require.Equal(t, 3, result.Changed)
}
