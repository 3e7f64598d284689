package api

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/httpapi/openapi/openapitest"
)

// say is a submission to a conversation.
func (d *desk) say(who string, id execution.ConversationID, more map[string]any) openapitest.Exchange {
	d.t.Helper()
	body := map[string]any{"agent": "demo", "input": map[string]any{"type": "user_message", "text": "hello"}, "conversationId": id}
	for name, value := range more {
		body[name] = value
	}
	g := d.of(d.call("createExecution"), "")
	text, err := json.Marshal(body)
	require.NoError(d.t, err)
	g.body = text
	return d.ask(who, g)
}

func (d *desk) said(who string, id execution.ConversationID, more map[string]any) execution.View {
	d.t.Helper()
	x := d.say(who, id, more)
	require.Equal(d.t, http.StatusAccepted, x.Status, "%s: %s", who, x.Body)
	var view execution.View
	decode(d.t, x.Body, &view)
	require.Equal(d.t, id, view.ConversationID)
	return view
}

func (d *desk) listed(who string, id execution.ConversationID) execution.ListPage {
	d.t.Helper()
	list := d.of(d.call("listExecutions"), "")
	list.query = url.Values{"conversationId": {string(id)}}
	x := d.ask(who, list)
	require.Equal(d.t, http.StatusOK, x.Status, string(x.Body))
	var page execution.ListPage
	decode(d.t, x.Body, &page)
	return page
}

// Squatting and filtering: what two tenants call alike are two conversations. Whatever a stranger does to an id, a tenant is
// answered as if it were alone.
func TestAnIdThatAnotherTenantTookIsFree(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, busy := range []execution.OnBusy{execution.BusyReject, execution.BusyEnqueue, execution.BusyInterrupt, execution.BusyRollback} {
		id, more := execution.ConversationID("ticket-"+busy), map[string]any{"onBusy": busy}
		theirs := d.said("stranger", id, more)
		mine := d.said("submitter", id, more)
		require.NotEqual(t, theirs.ID, mine.ID)
		for who, want := range map[string][]execution.ID{
			"submitter": {mine.ID}, "reader": {mine.ID}, "operator": {mine.ID}, "other submitter": {}, "stranger": {theirs.ID},
			"on call": {theirs.ID, mine.ID},
		} {
			ids := []execution.ID{}
			for _, view := range d.listed(who, id).Executions {
				ids = append(ids, view.ID)
			}
			require.ElementsMatch(t, want, ids, who)
		}
		x := d.say("other submitter", id, nil)
		require.Equal(t, http.StatusConflict, x.Status, "the tenant's is busy for its own: %s", x.Body)
		require.False(t, d.view("stranger", theirs.ID, "").State.Terminal(), "nothing was interrupted")
	}
	bulk := d.of(d.call("steerExecutions"), "")
	bulk.body = []byte(`{"action":"cancel","filter":{"conversationId":"ticket-reject"}}`)
	var result execution.BulkResult
	decode(t, d.ask("stranger", bulk).Body, &result)
	require.Equal(t, 1, result.Matched)
	require.Len(t, d.listed("on call", "ticket-reject").Executions, 2)
}

// Guessing and continuing: ids that Pawl minted open nothing, and the answer is the same, byte for byte, whether an id is
// another tenant's or nobody's.
func TestAMintedIdOfAnotherTenantIsNobodys(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	view := d.submit("submitter")
	owned := view.ConversationID
	nobodys := execution.NewConversationID(owned.Partition("acme"))
	for _, who := range []string{"stranger", "submitter"} {
		for _, busy := range []execution.OnBusy{"reject", "enqueue", "interrupt", "rollback"} {
			more := map[string]any{"onBusy": busy}
			want := d.say(who, nobodys, more)
			require.Equal(t, http.StatusBadRequest, want.Status, string(want.Body))
			require.Contains(t, string(want.Body), `"field":"conversationId"`)
			got := d.say("stranger", owned, more)
			require.Equal(t, want.Status, got.Status)
			require.Equal(t, string(want.Body), string(got.Body))
		}
	}
	for _, id := range []execution.ConversationID{owned, nobodys} {
		require.Equal(t, execution.ListPage{Executions: []execution.View{}}, d.listed("stranger", id))
	}
	require.Equal(t, view, d.view("operator", view.ID, ""), "it is as it was")
	require.Len(t, d.listed("on call", owned).Executions, 1)
	next := d.said("other submitter", owned, map[string]any{"onBusy": "interrupt"})
	require.Equal(t, owned, next.ConversationID, "its own tenant goes on")
}
