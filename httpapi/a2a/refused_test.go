package a2a_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	sdk "github.com/a2aproject/a2a-go/a2a"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/httpapi/a2a"
	"github.com/pawl-run/pawl/internal/a2arpc"
)

// Clients of streams read an error from the stream: the SDK for Go takes an answer of another type for a stream without events.
func TestAStreamThatDoesNotBeginAnswersItsErrorAsAnEvent(t *testing.T) {
	t.Parallel()
	store := memory(t)
	p := serve(t, store, change{})
	before := store.Dump()
	const stream = "Accept: text/event-stream"
	for name, test := range map[string]struct {
		body    string
		headers []string
		code    int
	}{
		"no params":            {`{"jsonrpc":"2.0","id":"a","method":"message/stream"}`, nil, a2arpc.InvalidParams},
		"another shape":        {`{"jsonrpc":"2.0","id":"a","method":"message/stream","params":{"message":5}}`, nil, a2arpc.InvalidParams},
		"no parts":             {`{"jsonrpc":"2.0","id":"a","method":"message/stream","params":{"message":{"messageId":"m","role":"user","parts":[]}}}`, nil, a2arpc.InvalidParams},
		"no task":              {`{"jsonrpc":"2.0","id":"a","method":"tasks/resubscribe","params":{"id":"x"}}`, nil, a2arpc.TaskNotFound},
		"another version":      {`{"jsonrpc":"2.0","id":"a","method":"message/stream","params":{}}`, []string{"A2A-Version: 1.0"}, a2arpc.VersionUnsupported},
		"a method of a stream": {`{"jsonrpc":"2.0","id":"a","method":"SendStreamingMessage","params":{}}`, []string{stream}, a2arpc.NoMethod},
	} {
		response, text := p.rpc("/a2a/demo", test.body, test.headers...)
		require.Equal(t, http.StatusOK, response.StatusCode, name)
		require.Equal(t, "text/event-stream", response.Header.Get("Content-Type"), name)
		line, is := strings.CutPrefix(text, "data: ")
		require.True(t, is, "%s: %q", name, text)
		var answer struct {
			ID    string
			Error struct{ Code int }
		}
		require.NoError(t, json.Unmarshal([]byte(line), &answer), name)
		require.Equal(t, "a", answer.ID, name)
		require.Equal(t, test.code, answer.Error.Code, name)
	}
	require.Equal(t, before, store.Dump())
}

func TestAStreamThatIsNotAllowedHasTheStatusOfThat(t *testing.T) {
	t.Parallel()
	p := serve(t, memory(t), change{http: byName, face: func(c *a2a.Config) { c.BeginAfter = patience }})
	const call = `{"jsonrpc":"2.0","id":"a","method":"message/stream","params":{"message":` +
		`{"messageId":"m","role":"user","parts":[{"kind":"text","text":"hi"}]}}}`
	response, text := p.rpc("/a2a/demo", call, "Authorization: Bearer one/rita/read")
	require.Equal(t, http.StatusForbidden, response.StatusCode, text)
	require.Equal(t, "application/json", response.Header.Get("Content-Type"))
	require.Contains(t, text, `"id":"a"`)
	for event, err := range p.client("demo", "Authorization: Bearer one/rita/read").SendStreamingMessage(bounded(t),
		&sdk.MessageSendParams{Message: message("m", "hi")}) {
		require.Nil(t, event)
		require.ErrorContains(t, err, "403 Forbidden")
	}
}

// A stream that nothing comes of for now begins all the same, so that its client knows that it is heard.
func TestAStreamWithoutEventsBegins(t *testing.T) {
	t.Parallel()
	p := serve(t, memory(t), change{face: func(c *a2a.Config) { c.BeginAfter = time.Millisecond }})
	task := send(t, p.client("demo"), message("m1", "hello"))
	request, err := http.NewRequestWithContext(bounded(t), http.MethodPost, p.URL+"/a2a/demo", strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"tasks/resubscribe","params":{"id":"`+string(task.ID)+`"}}`))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Last-Event-ID", "1") // nothing follows it yet
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Equal(t, "text/event-stream", response.Header.Get("Content-Type"))
}
