package httpapi_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

// Half a surrogate pair stands for no character. It is refused wherever it stands, and whatever is like one is not.
func TestHalfASurrogatePairIsRefused(t *testing.T) {
	t.Parallel()
	a := serve(t, memory(t))
	for text, status := range map[string]int{
		`\ud83d`: 400, `\udc00`: 400, `x\uD83D`: 400, `\ud83d\ud83d`: 400, `\ude00\ud83d`: 400, `\ud83d\n`: 400, `\ud83d\\ude00`: 400,
		`\\\ud83d`: 400, `\ud83d\ude00\ud83d`: 400, `\ud83d ude00`: 400, `\ud83d\u0041`: 400,
		`\ud83d\ude00`: 202, `\\ud83d`: 202, `\\\\ud83d`: 202, `\ufffd`: 202, `\u0041`: 202, `\uD7FF\uE000`: 202, "\U0001F600": 202,
	} {
		got := a.do(post, creating, `{"agent": "demo", "input": {"type": "user_message", "text": "`+text+`"}}`)
		require.Equal(t, status, got.StatusCode, "%s: %s", text, got.body)
		if status == 400 {
			refused(t, got, 400, execution.InvalidRequest, "body")
		}
	}
	for _, body := range []string{
		`{"agent": "demo", ` + message + `, "metadata": {"\ud83d": "x"}}`,
		`{"agent": "demo", ` + message + `, "outputSchema": {"title": "\ud83d"}}`,
	} {
		refused(t, a.do(post, creating, body), 400, execution.InvalidRequest, "body")
	}
}

// What is wrong with a schema is said without the schema.
func TestARefusedSchemaIsNotRepeated(t *testing.T) {
	t.Parallel()
	a := serve(t, memory(t))
	for _, schema := range []string{
		`{"type": "object", "properties": {"a": {"pattern": "` + strings.Repeat("(x", 25_000) + `"}}}`,
		`{"type": "object", "properties": {"a": {"pattern": "` + strings.Repeat("xy", 25_000) + `"}}}`,
		`{"type": "object", "properties": {"a": {"type": "` + strings.Repeat("é", 25_000) + `"}}}`,
	} {
		got := a.do(post, creating, `{"agent": "demo", `+message+`, "outputSchema": `+schema+`}`)
		refused(t, got, 400, execution.InvalidRequest, "outputSchema")
		require.Less(t, len(got.body), 3<<10)
	}
}

// A 405 says what would be allowed, in words and in its header.
func TestARefusedMethodIsToldWhichAreAllowed(t *testing.T) {
	t.Parallel()
	a := serve(t, memory(t))
	for path, allowed := range map[string][]string{
		"/v1/executions": {"GET", "POST"}, "/v1/executions/exec_1/cancel": {"POST"}, "/v1/agents": {"GET"},
		"/v1/executions/exec_1": {"DELETE", "GET"}, "/livez": {"GET", "HEAD"},
	} {
		got := a.do("PUT", path, "")
		refused(t, got, 405, execution.MethodNotAllowed, "method")
		for _, method := range allowed {
			require.Contains(t, got.Header.Get("Allow"), method, path)
			require.Contains(t, got.body, method, path)
		}
	}
}
