package main_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/test/harness"
)

// badRequest is a request that a careless client sends, and the field that the answer must name.
type badRequest struct {
	name, method, path, body, field string
	header                          map[string]string
}

func badRequests(id string) []badRequest {
	const create, message = "/v1/executions", `"input": {"type": "user_message", "text": "hello"}`
	events := create + "/" + id + "/events"
	post := func(name, field, body string) badRequest {
		return badRequest{name: name, method: http.MethodPost, path: create, body: body, field: field}
	}
	get := func(name, field, path string) badRequest {
		return badRequest{name: name, method: http.MethodGet, path: path, field: field}
	}
	good := `{"agent": "demo", ` + message + `}`
	longKey := post("a key of 257 characters", "Idempotency-Key", good)
	longKey.header = map[string]string{"Idempotency-Key": strings.Repeat("k", 257)}
	wrongType := post("a wrong Content-Type", "Content-Type", good)
	wrongType.header = map[string]string{"Content-Type": "text/plain"}
	lastEvent := get("a Last-Event-ID that is no number", "Last-Event-ID", events)
	lastEvent.header = map[string]string{"Last-Event-ID": "three", "Accept": "text/event-stream"}
	resume := func(name, field, body string) badRequest {
		return badRequest{name: name, method: http.MethodPost, path: create + "/" + id + "/resume", body: body, field: field}
	}
	return []badRequest{
		resume("a reason that is no text", "reason", `{"reason": 7}`),
		{name: "a body of pause", method: http.MethodPost, path: create + "/" + id + "/pause", body: `{"reason": "x"}`, field: "reason"},
		post("an unknown field", "shade", `{"agent": "demo", "shade": "red", `+message+`}`),
		post("a field of a feature that is not built", "webhook", `{"agent": "demo", "webhook": {"url": "x"}, `+message+`}`),
		post("a wrong type", "agent", `{"agent": 7, `+message+`}`),
		post("an empty agent", "agent", `{"agent": "", `+message+`}`),
		post("an unknown agent", "agent", `{"agent": "nobody", `+message+`}`),
		post("a body of 2 MiB", "body", `{"agent": "demo", "input": {"type": "user_message", "text": "`+strings.Repeat("x", 2<<20)+`"}}`),
		post("broken JSON", "body", `{"agent": "demo", `),
		post("trailing bytes", "body", good+` {}`),
		get("a malformed id", "id", create+"/exec_nonsense"),
		get("a negative after", "after", events+"?after=-1"),
		get("a limit of 0", "limit", events+"?limit=0"),
		{name: "a wrong method", method: http.MethodDelete, path: create, field: "method"},
		longKey, wrongType, lastEvent,
	}
}

func TestBadInputIsRefusedByNameAndWritesNothing(t *testing.T) {
	t.Parallel()
	tools := harness.Tools(t)
	stack := shipped(t, string(agent.Demo(tools.URL+"/lookup")))
	api := stack.API()
	view := api.Submit("demo", "Oslo, please")
	before := stack.Dump()
	for _, bad := range badRequests(string(view.ID)) {
		t.Run(bad.name, func(t *testing.T) {
			var body any
			if bad.body != "" {
				body = bad.body
			}
			answer, err := api.Do(context.Background(), bad.method, bad.path, bad.header, body)
			require.NoError(t, err)
			require.GreaterOrEqual(t, answer.Status, 400, "%s", answer.Body)
			require.Less(t, answer.Status, 500, "%s", answer.Body)
			require.Contains(t, answer.Header.Get("Content-Type"), "application/problem+json")
			code, field := answer.Problem()
			require.NotEmpty(t, code)
			require.Equal(t, bad.field, field, "%s", answer.Body)
		})
	}
	harness.CheckDump(t, before, stack.Dump())
}
