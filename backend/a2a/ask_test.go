package a2a_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/backend/a2a"
	"github.com/pawl-run/pawl/backend/a2a/a2atest"
	"github.com/pawl-run/pawl/backend/local"
)

// observer notes the requests that it is told of, and gives each a trace of its own.
type observer struct {
	mu   sync.Mutex
	over []string // guarded by mu: agent, method and code
}

var traced = trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})

func (o *observer) Asking(ctx context.Context, agent, method string) (context.Context, func(string)) {
	return trace.ContextWithSpanContext(ctx, traced), func(code string) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.over = append(o.over, agent+" "+method+" "+code)
	}
}

func (o *observer) all() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.over)
}

func TestEveryRequestIsObserved(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	defer close(done)
	peer, seen := a2atest.New(t, a2atest.Until(done, "never")), &observer{}
	options := map[string]string{"stream": "true", "observeMs": "50"}
	r := newRun(t, build(t, a2a.Config{Observer: seen}, endpoint(peer.URL, options)))
	r.must("work")
	r.must() // watches for its time, and looks
	peer.Intercept(a2atest.Answering(a2atest.Get, 503, 1))
	_, err := r.call()
	classified(t, err, local.Transient, a2a.CodeUnavailable)
	peer.Intercept(nil)
	r.aborted()
	all := seen.all()
	require.Equal(t, []string{
		"distant card ok", "distant message/send ok", "distant tasks/resubscribe ok", "distant tasks/get ok",
		"distant tasks/resubscribe ok", "distant tasks/get remote_unavailable",
	}, all[:6])
	require.Equal(t, "distant tasks/cancel ok", all[len(all)-1])
	for _, request := range peer.Requests("") {
		require.Equal(t, "00-01000000000000000000000000000000-0200000000000000-01", request.Header.Get("Traceparent"), request.Method)
	}
}

func TestARequestThatIsGivenUpIsNoErrorOfTheRemote(t *testing.T) {
	t.Parallel()
	peer, seen := a2atest.New(t, a2atest.Completing("hi")), &observer{}
	r := newRun(t, build(t, a2a.Config{Observer: seen, SendGrace: time.Millisecond}, endpoint(peer.URL, nil)))
	ctx, cancel := context.WithCancelCause(t.Context())
	peer.Intercept(func(_ http.ResponseWriter, request *http.Request, m string, _ http.Handler) bool {
		if m != a2atest.Send {
			return false
		}
		cancel(errTest)
		<-request.Context().Done()
		return true
	})
	_, err := r.backend.ExecuteRoot(ctx, r.request("hello"))
	require.ErrorIs(t, err, errTest)
	require.Equal(t, []string{"distant card ok", "distant message/send interrupted"}, seen.all())
}

// Whoever aborts gives a remote so much time; one that takes longer has failed.
func TestARemoteThatTakesTooLongToBeToldHasFailed(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	defer close(done)
	peer, seen := a2atest.New(t, a2atest.Until(done, "never")), &observer{}
	r := newRun(t, build(t, a2a.Config{Observer: seen}, endpoint(peer.URL, nil)))
	r.must("work")
	peer.Intercept(func(_ http.ResponseWriter, request *http.Request, m string, _ http.Handler) bool {
		<-request.Context().Done()
		return true
	})
	request := r.request()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.Error(t, r.backend.Abort(ctx, backend.AbortRequest{AgentID: "distant", Identity: request.Identity, State: request.State}))
	all := seen.all()
	require.Equal(t, "distant tasks/cancel remote_request_timeout", all[len(all)-1])
}

func TestRequestsWithoutATraceSayNothingOfOne(t *testing.T) {
	t.Parallel()
	r, peer := remote(t, a2atest.Completing("hi"))
	r.finish(r.must("hello"))
	for _, request := range peer.Requests("") {
		require.Empty(t, request.Header.Get("Traceparent"), request.Method)
	}
}

// A remote that is silent holds up its many callers for the time of one request, not of one each after the other.
func TestCallersOfARemoteWithoutACardShareTheFailure(t *testing.T) {
	t.Parallel()
	const callers = 20
	peer, seen := a2atest.New(t, a2atest.Completing("hi")), &observer{}
	peer.Intercept(func(w http.ResponseWriter, request *http.Request, m string, _ http.Handler) bool {
		if m == a2atest.Card {
			<-request.Context().Done()
		}
		return m == a2atest.Card
	})
	b := build(t, a2a.Config{Observer: seen}, endpoint(peer.URL, map[string]string{"requestTimeoutMs": "2000"}))
	var all sync.WaitGroup
	errs := make([]error, callers)
	for i := range callers {
		request := newRun(t, b).request("hello")
		all.Go(func() { _, errs[i] = b.ExecuteRoot(t.Context(), request) })
	}
	all.Wait()
	for _, err := range errs {
		classified(t, err, local.Transient, a2a.CodeTimeout)
	}
	reads := len(seen.all())
	require.Less(t, reads, callers/2, "whoever waits shares what the one who asks finds")
	for _, line := range seen.all() {
		require.True(t, strings.HasPrefix(line, "distant card remote_request_timeout"), line)
	}
}
