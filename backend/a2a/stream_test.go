package a2a_test

import (
	"net/http"
	"testing"
	"time"

	sdk "github.com/a2aproject/a2a-go/a2a"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/backend/a2a"
	"github.com/pawl-run/pawl/backend/a2a/a2atest"
)

var streaming = map[string]string{"stream": "true", "observeMs": "20000"}

func TestAStreamSaysWhenTheTaskHasEnded(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	peer := a2atest.New(t, a2atest.Until(done, "done"))
	peer.Intercept(func(_ http.ResponseWriter, _ *http.Request, m string, _ http.Handler) bool {
		if m == a2atest.Resubscribe && peer.Calls(m) == 1 {
			time.AfterFunc(50*time.Millisecond, func() { close(done) })
		}
		return false
	})
	r := newRun(t, build(t, a2a.Config{}, endpoint(peer.URL, streaming)))
	r.must("work")
	result := r.finish(r.must())
	require.Equal(t, "done", *result.Output.Text)
	require.NotZero(t, peer.Calls(a2atest.Resubscribe))
	require.Equal(t, 1, peer.Tasks())
}

func TestALookWatchesForItsTimeOnly(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	defer close(done)
	peer := a2atest.New(t, a2atest.Until(done, "never"))
	r := newRun(t, build(t, a2a.Config{}, endpoint(peer.URL, map[string]string{"stream": "true", "observeMs": "50"})))
	r.must("work")
	require.True(t, awaiting(r.must()))
	require.Equal(t, 1, peer.Calls(a2atest.Resubscribe))
	require.Equal(t, 1, peer.Calls(a2atest.Get))
}

// Whatever becomes of a stream, the task is looked at.
func TestStreamsThatAreRefusedOrCut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before  a2atest.Interceptor
		asksFor int // streams, in two looks
	}{
		"404":             {a2atest.Answering(a2atest.Resubscribe, 404, -1), 1},
		"405":             {a2atest.Answering(a2atest.Resubscribe, 405, -1), 1},
		"501":             {a2atest.Answering(a2atest.Resubscribe, 501, -1), 1},
		"500":             {a2atest.Answering(a2atest.Resubscribe, 500, -1), 2},
		"unsupported":     {saying(a2atest.Resubscribe, "application/json", `{"jsonrpc":"2.0","id":"1","error":{"code":-32004}}`), 1},
		"no method":       {saying(a2atest.Resubscribe, "text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"id\":\"1\",\"error\":{\"code\":-32601,\"message\":\"x\"}}\n\n"), 1},
		"no such task":    {saying(a2atest.Resubscribe, "text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"id\":\"1\",\"error\":{\"code\":-32001,\"message\":\"x\"}}\n\n"), 2},
		"cut":             {a2atest.Losing(a2atest.Resubscribe, 2), 2},
		"empty":           {saying(a2atest.Resubscribe, "text/event-stream", ""), 2},
		"no JSON":         {saying(a2atest.Resubscribe, "text/event-stream", "data: {\n\n"), 2},
		"no event":        {saying(a2atest.Resubscribe, "application/json", `{"jsonrpc":"2.0","id":"1","result":{}}`), 2},
		"another request": {saying(a2atest.Resubscribe, "text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"id\":\"x\",\"error\":{\"code\":-32601}}\n\n"), 2},
		"in the middle": {func(w http.ResponseWriter, r *http.Request, m string, _ http.Handler) bool {
			if m != a2atest.Resubscribe {
				return false
			}
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte("data: {\"jsonrpc\":\"2.0\",\"id\":" + string(a2atest.ID(r)) + ",\"result\":{\"kind\":\"status-update\",\"taskId\":\"t\",\"contextId\":\"c\",\"status\":{\"state\":\"working\"}}}\n\n"))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			done := make(chan struct{})
			peer := a2atest.New(t, a2atest.Until(done, "done"))
			peer.Intercept(func(w http.ResponseWriter, r *http.Request, m string, next http.Handler) bool {
				return c.before(w, r, m, quick(next))
			})
			r := newRun(t, build(t, a2a.Config{}, endpoint(peer.URL, streaming)))
			r.must("work")
			require.True(t, awaiting(r.must()))
			require.True(t, awaiting(r.must()))
			require.Equal(t, c.asksFor, peer.Calls(a2atest.Resubscribe))
			require.Equal(t, 2, peer.Calls(a2atest.Get))
			close(done)
			require.Equal(t, "done", *r.finish(r.must()).Output.Text)
			require.Equal(t, 1, peer.Tasks())
		})
	}
}

// quick carries nothing out, for streams that would not end.
func quick(http.Handler) http.Handler { return http.NotFoundHandler() }

func TestAnAgentWithoutStreamsIsNotAskedForOne(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	defer close(done)
	peer := a2atest.New(t, a2atest.Until(done, "never"))
	peer.Describe(func(card *sdk.AgentCard) { card.Capabilities.Streaming = false })
	r := newRun(t, build(t, a2a.Config{}, endpoint(peer.URL, streaming)))
	r.must("work")
	require.True(t, awaiting(r.must()))
	require.Zero(t, peer.Calls(a2atest.Resubscribe))
}
