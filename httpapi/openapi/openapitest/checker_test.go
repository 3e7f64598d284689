package openapitest_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/httpapi/openapi/openapitest"
)

const (
	viewBody = `{"id":"exec_0701JDZ8M5Q4T9V3X2R7B6N0PKWA","agent":"demo","conversationId":"c","state":"queued","usage":{"requests":0,` +
		`"inputTokens":0,"outputTokens":0,"totalTokens":0,"toolCalls":0},"step":0,"node":"run_start","version":1,"createdAtMs":1,"updatedAtMs":1}`
	submission = `{"agent": "demo", "input": {"type": "user_message", "text": "Oslo"}, "metadata": {"order": "7"}}`
)

func header(pairs ...string) http.Header {
	h := http.Header{
		"X-Request-Id": {"req_KJ3QW7XWZ2M4T5LDN6A2V7YBCE"}, "X-Content-Type-Options": {"nosniff"}, "X-Frame-Options": {"DENY"},
		"Referrer-Policy": {"no-referrer"}, "Content-Security-Policy": {"default-src 'none'"}, "Cache-Control": {"no-store"},
	}
	for i := 0; i < len(pairs); i += 2 {
		if h.Set(pairs[i], pairs[i+1]); pairs[i+1] == "" {
			h.Del(pairs[i])
		}
	}
	return h
}

func created(sent, body string, status int, h http.Header) openapitest.Exchange {
	r := httptest.NewRequest(http.MethodPost, "/v1/executions", http.NoBody)
	r.Header.Set("Content-Type", "application/json")
	return openapitest.Exchange{Request: r, Sent: []byte(sent), Status: status, Header: h, Body: []byte(body)}
}

const location, place = "Location", "/v1/executions/exec_0701JDZ8M5Q4T9V3X2R7B6N0PKWA"

func TestWhatIsDocumentedPasses(t *testing.T) {
	t.Parallel()
	json := header("Content-Type", "application/json", location, place)
	require.NoError(t, openapitest.Shared(t).Check(created(submission, viewBody, 202, json)))
}

func TestWhatIsNotDocumentedIsFound(t *testing.T) {
	t.Parallel()
	checker := openapitest.Shared(t)
	json := header("Content-Type", "application/json", location, place)
	with := func(pairs ...string) http.Header {
		h := maps.Clone(json)
		for i := 0; i < len(pairs); i += 2 {
			h[pairs[i]] = []string{pairs[i+1]}
		}
		return h
	}
	without := maps.Clone(json)
	delete(without, location)
	problem := header("Content-Type", "application/problem+json")
	events := func(path, body string) openapitest.Exchange {
		r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
		h := header("Content-Type", "text/event-stream", "X-Accel-Buffering", "no")
		return openapitest.Exchange{Request: r, Status: 200, Header: h, Body: []byte(body)}
	}
	for name, x := range map[string]openapitest.Exchange{
		"another status":       created(submission, viewBody, 201, json),
		"a field of an answer": created(submission, strings.Replace(viewBody, `"agent"`, `"weather":1,"agent"`, 1), 202, json),
		"a missing field":      created(submission, strings.Replace(viewBody, `"agent":"demo",`, ``, 1), 202, json),
		"another word":         created(submission, strings.Replace(viewBody, "queued", "waiting", 1), 202, json),
		"a missing header":     created(submission, viewBody, 202, without),
		"another header":       created(submission, viewBody, 202, with("X-Secret", "1")),
		"a header's value":     created(submission, viewBody, 202, with("Location", "/elsewhere")),
		"another type":         created(submission, viewBody, 202, with("Content-Type", "text/html")),
		"an accepted field":    created(strings.Replace(submission, `"agent"`, `"weather": 1, "agent"`, 1), viewBody, 202, json),
		"an accepted value":    created(strings.Replace(submission, `"Oslo"`, `7`, 1), viewBody, 202, json),
		"a code of another call": created(submission,
			`{"type":"about:blank","title":"Conflict","status":409,"code":"interaction_closed"}`, 409, problem),
		"another status inside": created(submission,
			`{"type":"about:blank","title":"Conflict","status":408,"code":"conflict"}`, 409, problem),
		"an unknown event": events("/v1/events", "event: x\ndata: {\"type\":\"x\"}\n\n"),
		"an event without its field": events(place+"/events",
			"id: 1\nevent: tool_started\ndata: {\"sequence\":1,\"occurredAtMs\":1,\"type\":\"tool_started\",\"name\":\"a\"}\n\n"),
		"another id": events(place+"/events",
			"id: 2\nevent: execution_queued\ndata: {\"sequence\":1,\"occurredAtMs\":1,\"type\":\"execution_queued\"}\n\n"),
	} {
		require.Error(t, checker.Check(x), name)
	}
}

func BenchmarkCheck(b *testing.B) {
	checker := openapitest.Shared(b)
	x := created(submission, viewBody, 202, header("Content-Type", "application/json", location, place))
	for b.Loop() {
		require.NoError(b, checker.Check(x))
	}
}
