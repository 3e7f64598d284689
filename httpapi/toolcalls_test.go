package httpapi_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/link/linktest"
)

func TestToolCallsAreServedAsTheLedgerHasThem(t *testing.T) {
	t.Parallel()
	store := memory(t)
	a := serve(t, store)
	id := a.submit().ID
	one := "/v1/executions/" + string(id) + "/tool-calls"
	w := linktest.Claim(t, store, id)
	got := a.do(http.MethodGet, one, "")
	require.Equal(t, http.StatusOK, got.StatusCode, got.body)
	require.JSONEq(t, `{"toolCalls":[],"nextAfter":2,"hasMore":false}`, got.body)

	w.Plan("call_0_0", "call_0_1")
	w.Start("call_0_0")
	w.Receive("call_0_1", `{"callId":"call_0_1","name":"refund","content":{"ok":true}}`, false)
	log := linktest.Log(t, store, id)
	started := fmt.Sprintf(`{"callId":"call_0_0","name":"refund","effectId":"%s:call_0_0","state":"started","recovery":"unsafe",
		"sequence":3,"plannedAtMs":%d,"arguments":{"b":1}}`, id, log[2].OccurredAtMs)
	done := fmt.Sprintf(`{"callId":"call_0_1","name":"refund","effectId":"%s:call_0_1","state":"done","recovery":"unsafe",
		"sequence":4,"plannedAtMs":%d,"doneAtMs":%d,"arguments":{"b":1},
		"result":{"callId":"call_0_1","name":"refund","content":{"ok":true}}}`, id, log[3].OccurredAtMs, log[4].OccurredAtMs)
	got = a.do(http.MethodGet, one, "")
	require.JSONEq(t, `{"toolCalls":[`+started+`,`+done+`],"nextAfter":5,"hasMore":false}`, got.body)
	got = a.do(http.MethodGet, one+"?limit=1", "")
	require.JSONEq(t, `{"toolCalls":[`+started+`],"nextAfter":3,"hasMore":true}`, got.body)
	got = a.do(http.MethodGet, one+"?after=3&limit=1", "")
	require.JSONEq(t, `{"toolCalls":[`+done+`],"nextAfter":5,"hasMore":false}`, got.body)
}

func TestToolCallsRefuseByField(t *testing.T) {
	t.Parallel()
	store := memory(t)
	a := serve(t, store)
	one := "/v1/executions/" + string(a.submit().ID) + "/tool-calls"
	before := store.Dump()
	for query, field := range map[string]string{
		"?after=-1": "after", "?after=x": "after", "?after=": "after", "?after=99999999999999999999": "after", "?limit=0": "limit",
		"?limit=x": "limit", "?after=1&after=2": "after",
	} {
		refused(t, a.do(http.MethodGet, one+query, ""), 400, execution.InvalidRequest, field)
	}
	refused(t, a.do(http.MethodGet, one+"?from=1", ""), 400, execution.UnknownField, "from")
	refused(t, a.do(http.MethodGet, one+"?after=9", ""), 409, execution.Conflict, "after")
	refused(t, a.do(http.MethodGet, one, "", "Accept: text/html"), 406, execution.NotAcceptable, "Accept")
	refused(t, a.do(http.MethodPost, one, "{}"), 405, execution.MethodNotAllowed, "method")
	unknown := "/v1/executions/" + string(execution.NewID(7)) + "/tool-calls"
	refused(t, a.do(http.MethodGet, unknown, ""), 404, execution.NotFound, "id")
	refused(t, a.do(http.MethodGet, "/v1/executions/exec_1/tool-calls", ""), 400, execution.InvalidRequest, "id")
	require.Equal(t, before, store.Dump())
}
