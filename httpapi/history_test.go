package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/link/linktest"
)

func TestHistoryAndWhyAreServedAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	store := memory(t)
	a := serve(t, store)
	id := a.submit().ID
	one := "/v1/executions/" + string(id)
	linktest.Claim(t, store, id).Say(`{"role":"assistant","text":"Hi.","provider":{"name":"p","data":{"hidden":1}}}`)

	got := a.do(http.MethodGet, one+"/messages", "")
	require.Equal(t, http.StatusOK, got.StatusCode, got.body)
	require.JSONEq(t, `{"messages":[{"index":0,"role":"user","text":"hello"},{"index":1,"role":"assistant","text":"Hi."}],
		"nextFrom":2,"hasMore":false}`, got.body)
	got = a.do(http.MethodGet, one+"/messages?from=1&limit=1", "")
	require.JSONEq(t, `{"messages":[{"index":1,"role":"assistant","text":"Hi."}],"nextFrom":2,"hasMore":false}`, got.body)
	got = a.do(http.MethodGet, one+"/messages?from=9", "")
	require.JSONEq(t, `{"messages":[],"nextFrom":9,"hasMore":false}`, got.body)

	got = a.do(http.MethodGet, one+"/checkpoints?limit=1", "")
	require.Equal(t, http.StatusOK, got.StatusCode, got.body)
	row, err := store.Get(t.Context(), id)
	require.NoError(t, err)
	require.JSONEq(t, `{"checkpoints":[{"step":0,"node":"model_response","turn":0,"evidence":{},"forkable":false,
		"committedAtMs":`+strconv.FormatInt(row.CreatedAtMs, 10)+`,"usage":{"requests":0,"inputTokens":0,"outputTokens":0,"totalTokens":0,"toolCalls":0}}],"nextFrom":1,"hasMore":true}`, got.body)

	got = a.do(http.MethodGet, one+"/why", "")
	require.Equal(t, http.StatusOK, got.StatusCode, got.body)
	var why map[string]any
	require.NoError(t, json.Unmarshal([]byte(got.body), &why))
	require.Equal(t, "running", why["state"])
	require.Equal(t, "node", why["waitingFor"])
	require.Contains(t, why, "holder")
	require.NotContains(t, why, "queue")
	require.NotContains(t, why, "lastError")
}

func TestHistoryRefusesByField(t *testing.T) {
	t.Parallel()
	store := memory(t)
	a := serve(t, store)
	one := "/v1/executions/" + string(a.submit().ID)
	before := store.Dump()
	for _, call := range []string{"/messages", "/checkpoints"} {
		for query, field := range map[string]string{
			"?from=-1": "from", "?from=x": "from", "?from=": "from", "?from=99999999999999999999": "from", "?limit=0": "limit",
			"?limit=x": "limit", "?from=1&from=2": "from",
		} {
			refused(t, a.do(http.MethodGet, one+call+query, ""), 400, execution.InvalidRequest, field)
		}
		refused(t, a.do(http.MethodGet, one+call+"?after=1", ""), 400, execution.UnknownField, "after")
		refused(t, a.do(http.MethodGet, one+call, "", "Accept: text/html"), 406, execution.NotAcceptable, "Accept")
		refused(t, a.do(http.MethodPost, one+call, "{}"), 405, execution.MethodNotAllowed, "method")
	}
	refused(t, a.do(http.MethodGet, one+"/why?from=1", ""), 400, execution.UnknownField, "from")
	for _, call := range []string{"/messages", "/checkpoints", "/why"} {
		unknown := "/v1/executions/" + string(execution.NewID(7)) + call
		refused(t, a.do(http.MethodGet, unknown, ""), 404, execution.NotFound, "id")
		refused(t, a.do(http.MethodGet, "/v1/executions/exec_1"+call, ""), 400, execution.InvalidRequest, "id")
	}
	require.Equal(t, before, store.Dump())
}
