package api

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/httpapi/openapi/openapitest"
	"github.com/pawl-run/pawl/internal/config"
)

// desk makes requests as several callers.
type desk struct {
	*runner
	t testing.TB
}

func (d *desk) ask(who string, g generated) openapitest.Exchange {
	d.t.Helper()
	g.caller = who
	if g.header == nil {
		g.header = http.Header{}
	}
	if g.body != nil {
		g.header.Set("Content-Type", "application/json")
	}
	x, err := d.exchange(&g)
	require.NoError(d.t, err)
	require.NoError(d.t, d.checker.Check(x))
	return x
}

// submit submits as somebody and waits until a question is open.
func (d *desk) submit(who string) execution.View {
	d.t.Helper()
	x := d.ask(who, generated{
		call: d.call("createExecution"), method: http.MethodPost, path: "/v1/executions",
		body: []byte(`{"agent":"demo","input":{"type":"user_message","text":"hello"}}`),
	})
	require.Equal(d.t, http.StatusAccepted, x.Status, string(x.Body))
	var view execution.View
	decode(d.t, x.Body, &view)
	for view.State != execution.WaitingForInput {
		view = d.view(who, view.ID, "wait=5s")
		require.False(d.t, view.State.Terminal())
	}
	return view
}

func (d *desk) view(who string, id execution.ID, query string) execution.View {
	d.t.Helper()
	values, err := url.ParseQuery(query)
	require.NoError(d.t, err)
	x := d.ask(who, generated{call: d.call("getExecution"), method: http.MethodGet, path: "/v1/executions/" + string(id), query: values})
	require.Equal(d.t, http.StatusOK, x.Status, string(x.Body))
	var view execution.View
	decode(d.t, x.Body, &view)
	return view
}

// of is a request of the call about the execution, with the document's own examples.
func (d *desk) of(call *openapitest.Call, id execution.ID) generated {
	path := strings.Replace(call.Path, "{id}", string(id), 1)
	path = strings.Replace(path, "{hash}", strings.Repeat("ab", 32), 1)
	g := generated{call: call, method: call.Method, path: path}
	if body, has := call.Operation["requestBody"].(map[string]any); has {
		content := body["content"].(map[string]any)["application/json"].(map[string]any)
		if example, has := content["example"]; has {
			text, err := json.Marshal(example)
			require.NoError(d.t, err)
			g.body = text
		}
	}
	if call.ID == "followExecutions" {
		g.header = http.Header{"Accept": {"text/event-stream"}}
	}
	return g
}

// refusal is what a caller is told who may not make a call.
type refusal struct {
	who    string // without a key when empty
	status int
}

// refusals are derived from the role that the document names for the call.
func refusals(call *openapitest.Call) []refusal {
	list := []refusal{{"", http.StatusUnauthorized}}
	of := strings.Contains(call.Path, "{id}")
	if of {
		list = append(list, refusal{"stranger", http.StatusNotFound}, refusal{"other submitter", http.StatusForbidden})
	}
	switch call.Role() {
	case "submit":
		list = append(list, refusal{"reader", http.StatusForbidden})
	case "operate":
		list = append(list, refusal{"reader", http.StatusForbidden}, refusal{"submitter", http.StatusForbidden})
	}
	return list
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	i := install(t, strings.ReplaceAll(agentsFile, "$TOOLS", tools(t)), config.AuthKeys)
	r := &runner{t: t, checker: openapitest.Shared(t), url: i.url, callers: i.callers, client: &http.Client{Transport: &http.Transport{}}}
	t.Cleanup(r.client.CloseIdleConnections)
	return &desk{runner: r, t: t}
}

// For every path and verb of the document: no key is 401, another tenant's key 404, a role that does not suffice 403, and
// none of them changes the execution. Its owner's key, or that of an operator, is let in.
func TestWhoMayMakeWhichCall(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	view := d.submit("submitter")
	var table strings.Builder
	for _, call := range sortedCalls(d.checker.Calls()) {
		if call.Role() == "" {
			require.NotEqual(t, "/v1", call.Path[:3], call.ID)
			continue
		}
		made := []generated{d.of(call, view.ID)}
		if call.ID == "readEvents" {
			stream := d.of(call, view.ID)
			stream.header = http.Header{"Accept": {"text/event-stream"}}
			made = append(made, stream)
		}
		for _, g := range made {
			for _, refused := range refusals(call) {
				x := d.ask(refused.who, g)
				require.Equal(t, refused.status, x.Status, "%s %s as %q: %s", g.method, g.path, refused.who, x.Body)
				table.WriteString(call.Method + " " + call.Path + "  " + refused.who + ": " + http.StatusText(refused.status) + "\n")
			}
		}
	}
	require.Equal(t, view, d.view("operator", view.ID, ""), "it is as it was")
	t.Log("\n" + table.String())
	d.letIn(t)
}

// letIn makes every call as somebody who may.
func (d *desk) letIn(t *testing.T) {
	t.Helper()
	for _, call := range sortedCalls(d.checker.Calls()) {
		who := map[string]string{"submit": "submitter", "read": "reader", "operate": "operator"}[call.Role()]
		if who == "" {
			continue
		}
		x := d.ask(who, d.of(call, d.submit("submitter").ID))
		require.NotContains(t, []int{401, 403}, x.Status, "%s as %s: %s", call.ID, who, x.Body)
		if call.ID != "getBlob" { // there is none of that hash
			require.NotEqual(t, http.StatusNotFound, x.Status, "%s as %s: %s", call.ID, who, x.Body)
		}
	}
}

// Calls that name no execution show and touch only what is the caller's own: listings, bulk, streams of all executions.
func TestCallsOfManyExecutionsSeeTheCallersOwn(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	view := d.submit("submitter")
	count := func(who string) int {
		x := d.ask(who, d.of(d.call("listExecutions"), ""))
		var page execution.ListPage
		decode(t, x.Body, &page)
		return len(page.Executions)
	}
	require.Equal(t, map[string]int{"submitter": 1, "other submitter": 0, "reader": 1, "operator": 1, "stranger": 0}, map[string]int{
		"submitter": count("submitter"), "other submitter": count("other submitter"), "reader": count("reader"),
		"operator": count("operator"), "stranger": count("stranger"),
	})
	bulk := d.of(d.call("steerExecutions"), "")
	bulk.body = []byte(`{"action":"cancel","filter":{"agent":"demo"}}`)
	for who, matched := range map[string]int{"stranger": 0, "other submitter": 0} {
		var result execution.BulkResult
		decode(t, d.ask(who, bulk).Body, &result)
		require.Equal(t, matched, result.Matched, who)
	}
	require.Equal(t, view, d.view("operator", view.ID, ""), "it is as it was")
	followed := make(chan openapitest.Exchange, 1)
	go func() { followed <- d.ask("stranger", d.of(d.call("followExecutions"), "")) }()
	d.ask("submitter", d.of(d.call("cancelExecution"), view.ID))
	require.NotContains(t, string((<-followed).Body), "data:", "what a stranger follows")
}

// An idempotency key is its caller's own: the same key of others names other executions, and tells them nothing.
func TestAnIdempotencyKeyIsItsCallersOwn(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ids := map[execution.ID]string{}
	g := d.of(d.call("createExecution"), "")
	g.header = http.Header{"Idempotency-Key": {"order-7"}}
	for _, who := range []string{"operator", "submitter", "other submitter", "stranger"} {
		x := d.ask(who, g)
		require.Equal(t, http.StatusAccepted, x.Status, "%s: %s", who, x.Body)
		var view execution.View
		decode(t, x.Body, &view)
		require.Empty(t, ids[view.ID])
		ids[view.ID] = who
	}
	other := g
	other.body = []byte(`{"agent":"quick","input":{"type":"user_message","text":"something else"}}`)
	require.Equal(t, http.StatusConflict, d.ask("operator", other).Status)
	require.Equal(t, http.StatusOK, d.ask("submitter", g).Status)
	view := d.submit("submitter")
	fork := d.of(d.call("forkExecution"), view.ID)
	fork.header = http.Header{"Idempotency-Key": {"order-7"}}
	require.Equal(t, http.StatusNotFound, d.ask("stranger", fork).Status)
	require.Equal(t, http.StatusForbidden, d.ask("other submitter", fork).Status)
}

// A cursor belongs to its caller, and a stream token to its execution.
func TestACursorAndAStreamTokenAreForOnePurpose(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	first, second := d.submit("submitter"), d.submit("submitter")
	list := d.of(d.call("listExecutions"), "")
	list.query = url.Values{"limit": {"1"}}
	var page execution.ListPage
	decode(t, d.ask("submitter", list).Body, &page)
	require.NotEmpty(t, page.NextCursor)
	list.query.Set("cursor", page.NextCursor)
	require.Equal(t, http.StatusOK, d.ask("submitter", list).Status)
	for _, who := range []string{"other submitter", "reader", "operator", "stranger"} {
		require.Equal(t, http.StatusBadRequest, d.ask(who, list).Status, who)
	}
	var token execution.StreamToken
	decode(t, d.ask("submitter", d.of(d.call("createStreamToken"), first.ID)).Body, &token)
	for id, status := range map[execution.ID]int{first.ID: http.StatusOK, second.ID: http.StatusForbidden} {
		stream := d.of(d.call("readEvents"), id)
		stream.header = http.Header{"Accept": {"text/event-stream"}}
		stream.query = url.Values{"token": {token.Token}}
		require.Equal(t, status, d.ask("", stream).Status)
	}
}
