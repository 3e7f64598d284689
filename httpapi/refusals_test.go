package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

// refusal is a request that must be refused.
type refusal struct {
	name, method, path, body string
	headers                  []string
	status                   int
	code                     execution.ErrorCode
	field                    string
}

const (
	post     = http.MethodPost
	get      = http.MethodGet
	creating = "/v1/executions"
	message  = `"input": {"type": "user_message", "text": "hello"}`
)

// bodyRefusals are bodies of a submission that must be refused.
func bodyRefusals() []refusal {
	cases := []struct {
		name, body string
		code       execution.ErrorCode
		field      string
	}{
		{"an unknown field", `{"agent": "demo", "weather": 1, ` + message + `}`, execution.UnknownField, "weather"},
		{
			"an unknown field of a field", `{"agent": "demo", "input": {"type": "user_message", "text": "x", "foo": 1}}`,
			execution.UnknownField, "input.foo",
		},
		{"a name in another case", `{"Agent": "demo", ` + message + `}`, execution.UnknownField, "Agent"},
		{"a field given twice", `{"agent": "demo", "agent": "other", ` + message + `}`, execution.InvalidRequest, "agent"},
		{"a wrong type", `{"agent": 7, ` + message + `}`, execution.InvalidRequest, "agent"},
		{
			"a wrong type of a field", `{"agent": "demo", "input": {"type": "user_message", "text": ["x"]}}`,
			execution.InvalidRequest, "input.text",
		},
		{"an object for a text", `{"agent": {}, ` + message + `}`, execution.InvalidRequest, "agent"},
		{"a text for an object", `{"agent": "demo", "input": "hello"}`, execution.InvalidRequest, "input"},
		{
			"a wrong type in metadata", `{"agent": "demo", "metadata": {"n": 1}, ` + message + `}`,
			execution.InvalidRequest, "metadata.n",
		},
		{"null", `{"agent": "demo", "conversationId": null, ` + message + `}`, execution.InvalidRequest, "conversationId"},
		{
			"a fraction for an integer", `{"agent": "demo", "startAtMs": 1.5, ` + message + `}`,
			execution.InvalidRequest, "startAtMs",
		},
		{
			"an integer too large", `{"agent": "demo", "startAtMs": 9223372036854775808, ` + message + `}`,
			execution.InvalidRequest, "startAtMs",
		},
		{"null as limits", `{"agent": "demo", "limits": null, ` + message + `}`, execution.InvalidRequest, "limits"},
		{
			"an unknown limit", `{"agent": "demo", "limits": {"maxPatience": 1}, ` + message + `}`,
			execution.UnknownField, "limits.maxPatience",
		},
		{
			"a wrong type of a limit", `{"agent": "demo", "limits": {"maxTurns": "3"}, ` + message + `}`,
			execution.InvalidRequest, "limits.maxTurns",
		},
		{
			"a deadline that no clock shows", `{"agent": "demo", "limits": {"deadlineMs": 9223372036854775807}, ` + message + `}`,
			execution.InvalidRequest, "limits.deadlineMs",
		},
		{
			"a wrong type of the temperature", `{"agent": "demo", "generation": {"temperature": "hot"}, ` + message + `}`,
			execution.InvalidRequest, "generation.temperature",
		},
		{
			"an unknown field of the generation", `{"agent": "demo", "generation": {"topK": 1}, ` + message + `}`,
			execution.UnknownField, "generation.topK",
		},
		{
			"an unknown field of a frontend tool", `{"agent": "demo", "frontendTools": [{"name": "a", "url": "b"}], ` + message + `}`,
			execution.UnknownField, "frontendTools[0].url",
		},
		{"no text as a model", `{"agent": "demo", "model": 1, ` + message + `}`, execution.InvalidRequest, "model"},
		{"no agent", `{` + message + `}`, execution.InvalidRequest, "agent"},
		{"an empty agent", `{"agent": "", ` + message + `}`, execution.InvalidRequest, "agent"},
		{"an unknown agent", `{"agent": "nobody", ` + message + `}`, execution.UnknownAgent, "agent"},
		{"no input", `{"agent": "demo"}`, execution.InvalidRequest, "input"},
		{"an empty input", `{"agent": "demo", "input": {}}`, execution.InvalidRequest, "input.type"},
		{"no text", `{"agent": "demo", "input": {"type": "user_message"}}`, execution.InvalidRequest, "input.text"},
		{"nothing", `{}`, execution.InvalidRequest, "agent"},
		{
			"an empty text", `{"agent": "demo", "input": {"type": "user_message", "text": ""}}`,
			execution.InvalidRequest, "input.text",
		},
		{"an empty conversation id", `{"agent": "demo", "conversationId": "", ` + message + `}`, execution.InvalidRequest, "conversationId"},
		{"an empty model", `{"agent": "demo", "model": "", ` + message + `}`, execution.InvalidRequest, "model"},
		{"empty instructions", `{"agent": "demo", "instructions": "", ` + message + `}`, execution.InvalidRequest, "instructions"},
		{"an empty onBusy", `{"agent": "demo", "onBusy": "", ` + message + `}`, execution.InvalidRequest, "onBusy"},
		{"an empty priority", `{"agent": "demo", "priority": "", ` + message + `}`, execution.InvalidRequest, "priority"},
		{"on busy", `{"agent": "demo", "onBusy": "wait", ` + message + `}`, execution.InvalidRequest, "onBusy"},
		{"a delegation that is none", `{"agent": "demo", "delegation": null, ` + message + `}`, execution.InvalidRequest, "delegation"},
		{"a delegation where there are none", `{"agent": "demo", "delegation": {}, ` + message + `}`, execution.InvalidRequest, "delegation"},
		{"a lease of one's own", `{"agent": "demo", "delegation": {"lease": "x"}, ` + message + `}`, execution.UnknownField, "delegation.lease"},
		{"broken JSON", `{"agent": "demo", `, execution.InvalidRequest, "body"},
		{"trailing bytes", validBody + ` {}`, execution.InvalidRequest, "body"},
		{"an array", `[]`, execution.InvalidRequest, "body"},
		{"null as a body", `null`, execution.InvalidRequest, "body"},
		{"no UTF-8", "{\"agent\": \"\xff\", " + message + "}", execution.InvalidRequest, "body"},
		{"a body of 10,000 nested arrays", strings.Repeat("[", 20_000), execution.InvalidRequest, "body"},
	}
	for _, name := range []string{"webhook", "overrides", "Overrides"} {
		cases = append(cases, struct {
			name, body string
			code       execution.ErrorCode
			field      string
		}{name + ", which is not built", `{"agent": "demo", "` + name + `": null, ` + message + `}`, execution.UnknownField, name})
	}
	list := make([]refusal, 0, len(cases))
	for _, c := range cases {
		list = append(list, refusal{c.name, post, creating, c.body, nil, 400, c.code, c.field})
	}
	return list
}

// requestRefusals are requests that must be refused for something else than their body; id is an execution's.
func requestRefusals(id string) []refusal {
	one := creating + "/" + id
	json := func(headers ...string) []string { return headers }
	const invalid = execution.InvalidRequest
	return []refusal{
		{"an empty body", post, creating, "", json("Content-Type: application/json"), 400, invalid, "body"},
		{
			"a body of 2 MiB", post, creating, `{"agent": "` + strings.Repeat("x", 2<<20) + `"}`, nil,
			413, execution.TooLarge, "body",
		},
		{
			"a wrong Content-Type", post, creating, validBody, json("Content-Type: text/plain"),
			415, execution.UnsupportedMediaType, "Content-Type",
		},
		{
			"another character set", post, creating, validBody, json("Content-Type: application/json; charset=latin1"),
			415, execution.UnsupportedMediaType, "Content-Type",
		},
		{
			"an encoded body", post, creating, validBody, json("Content-Encoding: gzip"),
			415, execution.UnsupportedMediaType, "Content-Encoding",
		},
		{
			"a key of 257 characters", post, creating, validBody, json("Idempotency-Key: " + strings.Repeat("k", 257)),
			400, invalid, "Idempotency-Key",
		},
		{"an empty key", post, creating, validBody, json("Idempotency-Key: "), 400, invalid, "Idempotency-Key"},
		{"a key that does not print", post, creating, validBody, json("Idempotency-Key: a\tb"), 400, invalid, "Idempotency-Key"},
		{"a parameter of a submission", post, creating + "?dry=1", validBody, nil, 400, execution.UnknownField, "dry"},
		{"a wrong method", http.MethodDelete, creating, "", nil, 405, execution.MethodNotAllowed, "method"},
		{"a wrong method of one", http.MethodPut, one, validBody, nil, 405, execution.MethodNotAllowed, "method"},
		{"an unknown parameter of a list", get, creating + "?status=x", "", nil, 400, execution.UnknownField, "status"},
		{"metadata without a name", get, creating + "?metadata.=x", "", nil, 400, execution.UnknownField, "metadata."},
		{"metadata given twice", get, creating + "?metadata.a=1&metadata.a=2", "", nil, 400, invalid, "metadata.a"},
		{"an unknown state", get, creating + "?state=x", "", nil, 400, invalid, "state"},
		{"a limit of 0 of a list", get, creating + "?limit=0", "", nil, 400, invalid, "limit"},
		{"an instant that is none", get, creating + "?updatedSince=1h", "", nil, 400, invalid, "updatedSince"},
		{"a cursor that no page gave", get, creating + "?cursor=x", "", nil, 400, invalid, "cursor"},
		{"an unknown path", get, "/v2/executions", "", nil, 404, execution.NotFound, "path"},
		{"a malformed id", get, creating + "/exec_1", "", nil, 400, invalid, "id"},
		{"a malformed id of events", get, creating + "/exec_1/events", "", nil, 400, invalid, "id"},
		{"a malformed id of input", post, creating + "/exec_1/input", `{}`, nil, 400, invalid, "id"},
		{"a malformed id of cancel", post, creating + "/exec%2f1/cancel", "", nil, 400, invalid, "id"},
		{"an unknown id", get, creating + "/exec_0701ARZ3NDEKTSV4RRFFQ69G5FAV", "", nil, 404, execution.NotFound, "id"},
		{"a negative after", get, one + "/events?after=-1", "", nil, 400, invalid, "after"},
		{"no number for after", get, one + "/events?after=NaN", "", nil, 400, invalid, "after"},
		{"an empty after", get, one + "/events?after=", "", nil, 400, invalid, "after"},
		{"after twice", get, one + "/events?after=0&after=1", "", nil, 400, invalid, "after"},
		{"after beyond the log", get, one + "/events?after=7", "", nil, 409, execution.Conflict, "after"},
		{"a limit of 0", get, one + "/events?limit=0", "", nil, 400, invalid, "limit"},
		{"no number for limit", get, one + "/events?limit=all", "", nil, 400, invalid, "limit"},
		{"an unknown parameter", get, one + "/events?afer=1", "", nil, 400, execution.UnknownField, "afer"},
		{"a query that cannot be decoded", get, one + "/events?after=%zz", "", nil, 400, invalid, "query"},
		{
			"Last-Event-ID not a number", get, one + "/events", "", json("Accept: text/event-stream", "Last-Event-ID: x"),
			400, invalid, "Last-Event-ID",
		},
		{
			"Last-Event-ID not a number of a page", get, one + "/events", "", json("Last-Event-ID: -1"),
			400, invalid, "Last-Event-ID",
		},
		{
			"a stream beyond the log", get, one + "/events", "", json("Accept: text/event-stream", "Last-Event-ID: 7"),
			409, execution.Conflict, "Last-Event-ID",
		},
		{"a limit of a stream", get, one + "/events?limit=5", "", json("Accept: text/event-stream"), 400, invalid, "limit"},
		{"wait without unit", get, one + "?wait=30", "", nil, 400, invalid, "wait"},
		{"a negative wait", get, one + "?wait=-1s", "", nil, 400, invalid, "wait"},
		{"a version without wait", get, one + "?version=1", "", nil, 400, invalid, "version"},
		{"no number for version", get, one + "?wait=1s&version=x", "", nil, 400, invalid, "version"},
		{"what is not to be had", get, one, "", json("Accept: text/html"), 406, execution.NotAcceptable, "Accept"},
		{"a stream of a view", get, one, "", json("Accept: text/event-stream"), 406, execution.NotAcceptable, "Accept"},
		{
			"no type at all", get, one + "/events", "", json("Accept: application/json;q=0"),
			406, execution.NotAcceptable, "Accept",
		},
		{"a body of cancel", post, one + "/cancel", `{"reason": "x"}`, nil, 400, execution.UnknownField, "reason"},
		{"a body of pause", post, one + "/pause", `{"reason": "x"}`, nil, 400, execution.UnknownField, "reason"},
		{"a parameter of pause", post, one + "/pause?force=1", "", nil, 400, execution.UnknownField, "force"},
		{"a malformed id of pause", post, creating + "/exec_1/pause", "", nil, 400, invalid, "id"},
		{"a wrong method of pause", get, one + "/pause", "", nil, 405, execution.MethodNotAllowed, "method"},
		{"a malformed id of resume", post, creating + "/exec_1/resume", "", nil, 400, invalid, "id"},
		{"an unknown limit of resume", post, one + "/resume", `{"limits": {"maxFun": 1}}`, nil, 400, execution.UnknownField, "limits.maxFun"},
		{"a bad limit of resume", post, one + "/resume", `{"limits": {"maxTurns": -1}}`, nil, 400, invalid, "limits.maxTurns"},
		{"a body of release", post, one + "/release", `{"reason": "x"}`, nil, 400, execution.UnknownField, "reason"},
		{"a parameter of release", post, one + "/release?force=1", "", nil, 400, execution.UnknownField, "force"},
		{"a malformed id of release", post, creating + "/exec_1/release", "", nil, 400, invalid, "id"},
		{"a wrong method of release", get, one + "/release", "", nil, 405, execution.MethodNotAllowed, "method"},
		{"a body of delete", http.MethodDelete, one, `{"force": true}`, nil, 400, execution.UnknownField, "force"},
		{"a parameter of delete", http.MethodDelete, one + "?force=1", "", nil, 400, execution.UnknownField, "force"},
		{"a malformed id of delete", http.MethodDelete, creating + "/exec_1", "", nil, 400, invalid, "id"},
		{"delete of what has not ended", http.MethodDelete, one, "", nil, 409, execution.Conflict, "id"},
		{"a bulk that says nothing", post, creating + "/bulk", `{}`, nil, 400, invalid, "action"},
		{"no filter of bulk", post, creating + "/bulk", `{"action": "cancel"}`, nil, 400, invalid, "filter"},
		{"an unknown field of a filter", post, creating + "/bulk", `{"action": "cancel", "filter": {"color": "red"}}`, nil, 400, execution.UnknownField, "filter.color"},
		{"an unknown action of bulk", post, creating + "/bulk", `{"action": "pause", "filter": {"agent": "demo"}}`, nil, 400, invalid, "action"},
		{"a wrong method of bulk", http.MethodPut, creating + "/bulk", "", nil, 405, execution.MethodNotAllowed, "method"},
		{"a retention that is too short", post, creating, `{"agent": "demo", "input": {"type": "user_message", "text": "x"}, "retentionMs": 999}`, nil, 400, invalid, "retentionMs"},
		{"a retention that is too long", post, creating, `{"agent": "demo", "input": {"type": "user_message", "text": "x"}, "retentionMs": 315360000001}`, nil, 400, invalid, "retentionMs"},
		{"an unknown field of resume", post, one + "/resume", `{"reazon": "x"}`, nil, 400, execution.UnknownField, "reazon"},
		{"a wrong type of a reason", post, one + "/resume", `{"reason": 7}`, nil, 400, invalid, "reason"},
		{"a reason of null", post, one + "/resume", `{"reason": null}`, nil, 400, invalid, "reason"},
		{
			"a reason of 513 bytes", post, one + "/resume", `{"reason": "` + strings.Repeat("r", 513) + `"}`, nil,
			400, invalid, "reason",
		},
		{"trailing bytes of resume", post, one + "/resume", `{} {}`, nil, 400, invalid, "body"},
		{
			"a wrong Content-Type of resume", post, one + "/resume", `{}`, json("Content-Type: text/plain"),
			415, execution.UnsupportedMediaType, "Content-Type",
		},
		{
			"resume for a page that wants HTML", post, one + "/resume", "", json("Accept: text/html"),
			406, execution.NotAcceptable, "Accept",
		},
		{
			"input without operation", post, one + "/input", `{"input": {"type": "elicitation_response"}}`, nil,
			400, invalid, "operationId",
		},
		{"an input without input", post, one + "/input", `{"operationId": "o"}`, nil, 400, invalid, "input"},
		{
			"a decision without decision", post, one + "/input", `{"operationId": "o", "input": {"type": "tool_approval",
			"requestId": "r", "decisions": [{"callId": "c"}]}}`, nil, 400, invalid, "input.decisions[0].decision",
		},
		{
			"a result without a result", post, one + "/input",
			`{"operationId": "o", "input": {"type": "tool_result", "requestId": "r", "callId": "c"}}`, nil,
			400, invalid, "input.result",
		},
		{
			"a result of null", post, one + "/input",
			`{"operationId": "o", "input": {"type": "tool_result", "callId": "c", "result": null}}`, nil,
			400, invalid, "input.result",
		},
		{
			"a result with a text", post, one + "/input",
			`{"operationId": "o", "input": {"type": "tool_result", "callId": "c", "result": 1, "text": "done"}}`, nil,
			400, invalid, "input.text",
		},
		{
			"an edit without a decision", post, one + "/input", `{"operationId": "o", "input": {"type": "tool_approval",
			"requestId": "r", "decisions": [{"callId": "c", "decision": "approve"}, {"callId": "d", "arguments": {}}]}}`, nil,
			400, invalid, "input.decisions[1].decision",
		},
		{
			"an edit to a list", post, one + "/input", `{"operationId": "o", "input": {"type": "tool_approval",
			"requestId": "r", "decisions": [{"callId": "d", "decision": "edit", "arguments": [1]}]}}`, nil,
			400, invalid, "input.decisions[0].arguments",
		},
		{
			"an answer that is declined and given", post, one + "/input", `{"operationId": "o", "input": {
			"type": "elicitation_response", "requestId": "r", "declined": true, "content": {"a": 1}}}`, nil,
			400, invalid, "input.content",
		},
		{
			"an answer of null", post, one + "/input", `{"operationId": "o", "input": {"type": "tool_approval",
			"requestId": "r", "decisions": [{"callId": "c", "decision": "answer", "answer": null}]}}`, nil,
			400, invalid, "input.decisions[0].answer",
		},
		{
			"input without a question", post, one + "/input",
			`{"operationId": "o", "input": {"type": "elicitation_response", "requestId": "r", "text": "x"}}`, nil,
			409, execution.InteractionClosed, "input.requestId",
		},
		{"another host", get, one, "", json("Host: evil.example"), 403, execution.Forbidden, "Host"},
		{"another host with our name in it", get, one, "", json("Host: 127.0.0.1.evil.example"), 403, execution.Forbidden, "Host"},
		{"another origin", post, creating, validBody, json("Origin: https://evil.example"), 403, execution.Forbidden, "Origin"},
		{"an origin without name", post, creating, validBody, json("Origin: null"), 403, execution.Forbidden, "Origin"},
		{
			"another port's origin", post, creating, validBody, json("Origin: http://127.0.0.1:1"),
			403, execution.Forbidden, "Origin",
		},
	}
}

func TestBadInputIsRefusedByFieldAndWritesNothing(t *testing.T) {
	t.Parallel()
	store := memory(t)
	a := serve(t, store)
	id := string(a.submit().ID)
	before := store.Dump()
	for _, r := range append(bodyRefusals(), requestRefusals(id)...) {
		t.Run(r.name, func(t *testing.T) {
			got := a.do(r.method, r.path, r.body, r.headers...)
			refused(t, got, r.status, r.code, r.field)
			require.Equal(t, before, store.Dump())
		})
	}
}

func TestWhatIsMissingIsRequiredByName(t *testing.T) {
	t.Parallel()
	a := serve(t, memory(t))
	input := creating + "/" + string(a.submit().ID) + "/input"
	for _, c := range []struct{ path, body, field string }{
		{creating, `{}`, "agent"},
		{creating, `{"agent": "demo"}`, "input"},
		{creating, `{"agent": "demo", "input": {"text": "x"}}`, "input.type"},
		{creating, `{"agent": "demo", "input": {"type": "user_message"}}`, "input.text"},
		{input, `{}`, "operationId"},
		{input, `{"operationId": "o"}`, "input"},
		{input, `{"operationId": "o", "input": {"text": "x"}}`, "input.type"},
		{input, `{"operationId": "o", "input": {"type": "elicitation_response", "requestId": "r"}}`, "input.text"},
		{input, `{"operationId": "o", "input": {"type": "elicitation_response", "text": "x"}}`, "input.requestId"},
		{input, `{"operationId": "o", "input": {"type": "tool_approval", "requestId": "r"}}`, "input.decisions"},
	} {
		got := a.do(post, c.path, c.body)
		refused(t, got, 400, execution.InvalidRequest, c.field)
		require.Contains(t, got.body, `"detail":"`+c.field+` is required"`)
	}
}

func TestCaseG2_TooLargeIsRefusedAtTheEdgeAndTheConnectionSurvives(t *testing.T) {
	t.Parallel()
	store := memory(t)
	a := serve(t, store, func(c *httpapiConfig) { c.MaxBody = 1000 })
	fits := strings.Replace(validBody, "hello", strings.Repeat("x", 1000-len(validBody)+len("hello")), 1)
	require.Len(t, fits, 1000)
	require.Equal(t, 202, a.do(post, creating, fits).StatusCode)
	refused(t, a.do(post, creating, fits+" "), 413, execution.TooLarge, "body")
	require.Equal(t, 202, a.do(post, creating, validBody).StatusCode)
}

func TestWrongMethodsNameTheRightOnes(t *testing.T) {
	t.Parallel()
	a := serve(t, memory(t))
	require.Contains(t, a.do(http.MethodDelete, creating, "").Header.Get("Allow"), "POST")
	require.Contains(t, a.do(post, "/v1/agents", "").Header.Get("Allow"), "GET")
}

func TestLoopbackNamesAndTheOwnOriginGetIn(t *testing.T) {
	t.Parallel()
	a := serve(t, memory(t))
	for _, host := range []string{"localhost", "localhost:1", "LOCALHOST", "127.0.0.1:99", "[::1]", "[::1]:8080"} {
		require.Equal(t, 200, a.do(get, "/livez", "", "Host: "+host).StatusCode, host)
		require.Equal(t, 200, a.do(get, "/livez", "", "Host: "+host, "Origin: http://"+host).StatusCode, host)
	}
	for _, host := range []string{"0.0.0.0", "example.org", "localhost.example.org", "10.0.0.1:8080", "[::1].example.org"} {
		require.Equal(t, 403, a.do(get, "/livez", "", "Host: "+host).StatusCode, host)
	}
}
