package a2a_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/a2aproject/a2a-go/a2a"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/backend/a2a"
	"github.com/pawl-run/pawl/backend/a2a/a2atest"
	"github.com/pawl-run/pawl/backend/local"
)

func TestStatusesOfAMessage(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]struct {
		kind local.ErrorKind
		code string
	}{
		408: {local.Transient, a2a.CodeUnavailable}, 425: {local.Transient, a2a.CodeUnavailable},
		503: {local.Transient, a2a.CodeUnavailable}, 429: {local.Transient, a2a.CodeRateLimited},
		400: {local.Permanent, a2a.CodeRefused}, 404: {local.Permanent, a2a.CodeRefused}, 409: {local.Permanent, a2a.CodeRefused},
		401: {local.Permanent, a2a.CodeUnauthorized}, 403: {local.Permanent, a2a.CodeUnauthorized},
		202: {local.Permanent, a2a.CodeRefused}, 304: {local.Permanent, a2a.CodeRefused},
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			r, peer := remote(t, a2atest.Completing("hi"))
			peer.Intercept(func(w http.ResponseWriter, _ *http.Request, m string, _ http.Handler) bool {
				if m == a2atest.Send {
					w.Header().Set("Retry-After", "7")
					w.WriteHeader(status)
				}
				return m == a2atest.Send
			})
			_, err := r.call("hello")
			failed := classified(t, err, want.kind, want.code)
			require.Equal(t, 7*time.Second, failed.RetryAfter)
		})
	}
}

func TestErrorsOfJSONRPC(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]struct {
		kind          local.ErrorKind
		code, message string
	}{
		`{"code":-32602,"message":"no such\n skill"}`:                   {local.Permanent, a2a.CodeRefused, "the remote agent answered error -32602: no such skill"},
		`{"code":-32005,"message":"text only","data":[{"reason":"X"}]}`: {local.Permanent, a2a.CodeRefused, "the remote agent answered error -32005: text only"},
		`{"code":-32601}`: {local.Permanent, a2a.CodeRefused, "the remote agent answered error -32601"},
		`{"code":-32001}`: {local.Permanent, a2a.CodeTaskLost, "the remote agent does not know the task"},
		`{"code":-1,"message":"` + strings.Repeat("ä", 400) + `"}`: {local.Permanent, a2a.CodeRefused, "the remote agent answered error -1: " + strings.Repeat("ä", 250) + "…"},
	} {
		r, peer := remote(t, a2atest.Completing("hi"))
		peer.Intercept(saying(a2atest.Send, "application/json", `{"jsonrpc":"2.0","id":null,"error":`+body+`}`))
		_, err := r.call("hello")
		require.Equal(t, want.message, classified(t, err, want.kind, want.code).Message)
	}
}

func TestAnErrorOfJSONRPCSaysMoreThanItsStatus(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		code   string
	}{
		"the task is unknown": {404, `{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"x"}}`, a2a.CodeTaskLost},
		"refused":             {500, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"x"}}`, a2a.CodeRefused},
		"of another request":  {404, `{"jsonrpc":"2.0","id":"x","error":{"code":-32001,"message":"x"}}`, a2a.CodeRefused},
		"of another kind":     {404, `{"error":{"code":404,"message":"x"}}`, a2a.CodeRefused},
		"about who asks":      {401, `{"error":{"code":-32001,"message":"x"}}`, a2a.CodeUnauthorized},
		"text":                {404, `not here`, a2a.CodeRefused},
		"longer than is read": {404, `{"error":{"code":-32001,"message":"` + strings.Repeat("x", 1<<17) + `"}}`, a2a.CodeRefused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, peer := remote(t, a2atest.Completing("hi"))
			peer.Intercept(func(w http.ResponseWriter, r *http.Request, m string, _ http.Handler) bool {
				if m == a2atest.Send {
					w.WriteHeader(c.status)
					_, _ = w.Write(bytes.ReplaceAll([]byte(c.body), []byte(`"id":1`), append([]byte(`"id":`), a2atest.ID(r)...)))
				}
				return m == a2atest.Send
			})
			_, err := r.call("hello")
			classified(t, err, local.Permanent, c.code)
		})
	}
}

func TestAMessageIsNotSentAgainAfterTheTimeOfTheRun(t *testing.T) {
	t.Parallel()
	clock := &clock{}
	clock.set(time.Now())
	peer := a2atest.New(t, a2atest.Completing("hi"))
	r := newRun(t, build(t, a2a.Config{Now: clock.now}, endpoint(peer.URL, nil)))
	peer.Intercept(func(w http.ResponseWriter, _ *http.Request, m string, _ http.Handler) bool {
		if m == a2atest.Send {
			w.Header().Set("Retry-After", "86400")
			w.WriteHeader(http.StatusInternalServerError)
		}
		return m == a2atest.Send
	})
	first := r.must("hello")
	require.Equal(t, time.Hour, first.After)
	clock.set(clock.now().Add(first.After))
	require.Equal(t, backend.TimeoutStatus(), r.must().Status)
	require.Equal(t, 1, peer.Calls(a2atest.Send))
	require.Zero(t, peer.Calls(a2atest.Cancel), "nobody knows what to cancel")
}

func TestAnswersThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"no JSON":         "<html>",
		"no result":       `{"jsonrpc":"2.0","id":"1"}`,
		"another kind":    `{"jsonrpc":"2.0","id":"1","result":{"kind":"dream"}}`,
		"an update":       `{"jsonrpc":"2.0","id":"1","result":{"kind":"status-update","taskId":"t","status":{"state":"working"}}}`,
		"a nameless task": `{"jsonrpc":"2.0","id":"1","result":{"kind":"task","contextId":"c","status":{"state":"working"}}}`,
		"parts of 1.0":    `{"jsonrpc":"2.0","id":"1","result":{"kind":"message","messageId":"m","role":"agent","parts":[{"text":"x"}]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, peer := remote(t, a2atest.Completing("hi"))
			peer.Intercept(saying(a2atest.Send, "application/json", body))
			_, err := r.call("hello")
			classified(t, err, local.Permanent, a2a.CodeMalformed)
		})
	}
}

func TestAnAnswerThatIsTooLongIsGivenUp(t *testing.T) {
	t.Parallel()
	peer := a2atest.New(t, a2atest.Completing(strings.Repeat("x", 10_000)))
	r := newRun(t, build(t, a2a.Config{MaxAnswer: 5000}, endpoint(peer.URL, nil)))
	result, err := r.call("hello")
	for err == nil && awaiting(result) {
		result, err = r.call()
	}
	require.Contains(t, classified(t, err, local.Permanent, a2a.CodeMalformed).Message, "longer than is read")
}

// The answers to a message are lost; what became of it nobody knows. The peer recognizes nothing that it had before.
func TestAMessageWhoseAnswerIsLostIsSentOnceMore(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]a2atest.Interceptor{
		"cut": a2atest.Losing(a2atest.Send, 1), "500": a2atest.Answering(a2atest.Send, 500, 1), "504": a2atest.Answering(a2atest.Send, 504, 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, peer := remote(t, a2atest.Completing("hi"))
			peer.Intercept(lost)
			first := r.must("hello")
			require.True(t, awaiting(first))
			require.Equal(t, "sending", r.handle()["phase"])
			require.GreaterOrEqual(t, first.After, time.Second)
			require.NoError(t, r.abort(), "there is nothing to cancel yet")
			result := r.finish(r.must()) // which brings no new message: what was new is in the transcript
			require.Equal(t, "hi", *result.Output.Text)
			sent := peer.Sent(t)
			require.Len(t, sent, 2)
			require.Equal(t, sent[0].Message, sent[1].Message, "the same message, with the same id")
		})
	}
}

func TestAMessageIsNotSentAThirdTime(t *testing.T) {
	t.Parallel()
	r, peer := remote(t, a2atest.Completing("hi"))
	peer.Intercept(a2atest.Losing(a2atest.Send, 9))
	r.must("hello")
	_, err := r.call()
	failed := classified(t, err, local.Permanent, a2a.CodeOutcomeUnknown)
	require.Contains(t, failed.Message, "the connection to the remote agent was lost")
	require.Equal(t, 2, peer.Tasks())
}

func TestLaterMessagesOfARunAreSentOnceMoreAsTheyWere(t *testing.T) {
	t.Parallel()
	r, peer := remote(t, asking(sdk.TaskStateInputRequired))
	r.finish(r.must("paint"))
	peer.Intercept(a2atest.Answering(a2atest.Send, 502, 1))
	require.True(t, awaiting(r.must("red")))
	require.Equal(t, "painted red", *r.finish(r.must()).Output.Text)
	sent := peer.Sent(t)
	require.Equal(t, sent[1].Message, sent[2].Message)
	require.NotEmpty(t, sent[2].Message.TaskID)
	require.Equal(t, 1, peer.Tasks())
}

func TestALookThatFailsIsMadeAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before a2atest.Interceptor
		code   string
	}{
		"cut": {a2atest.Losing(a2atest.Get, 1), a2a.CodeConnectionLost},
		"500": {a2atest.Answering(a2atest.Get, 500, 1), a2a.CodeFailed},
		"503": {a2atest.Answering(a2atest.Get, 503, 1), a2a.CodeUnavailable},
		"rpc": {saying(a2atest.Get, "application/json", `{"jsonrpc":"2.0","id":"1","error":{"code":-32603}}`), a2a.CodeFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			done := make(chan struct{})
			r, peer := remote(t, a2atest.Until(done, "done"))
			r.must("work")
			peer.Intercept(c.before)
			_, err := r.call()
			classified(t, err, local.Transient, c.code)
			peer.Intercept(nil)
			close(done)
			require.Equal(t, "done", *r.finish(r.must()).Output.Text)
			require.Equal(t, 1, peer.Tasks())
		})
	}
}

func TestARemoteThatIsNotThereIsTransient(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	r := newRun(t, build(t, a2a.Config{}, endpoint("http://"+listener.Addr().String(), nil)))
	_, err = r.call("hello")
	failed := classified(t, err, local.Transient, a2a.CodeUnreachable)
	require.NotContains(t, failed.Message, "http://")
}

func TestARequestHasItsTime(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	peer := a2atest.New(t, a2atest.Completing("hi"))
	t.Cleanup(func() { close(stop) })
	hang := func(method string) a2atest.Interceptor {
		return func(_ http.ResponseWriter, r *http.Request, m string, _ http.Handler) bool {
			if m == method {
				select {
				case <-r.Context().Done():
				case <-stop:
				}
			}
			return m == method
		}
	}
	r := newRun(t, build(t, a2a.Config{}, endpoint(peer.URL, map[string]string{"requestTimeoutMs": "3000"})))
	peer.Intercept(hang(a2atest.Card))
	_, err := r.call("hello")
	classified(t, err, local.Transient, a2a.CodeTimeout)
	peer.Intercept(hang(a2atest.Send))
	require.True(t, awaiting(r.must("hello")), "nobody knows what became of it")
	require.Equal(t, "sending", r.handle()["phase"])
}

func TestRedirectsKeepToTheHost(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int32
	other := a2atest.New(t, a2atest.Completing("stolen"))
	other.Intercept(func(http.ResponseWriter, *http.Request, string, http.Handler) bool {
		elsewhere.Add(1)
		return false
	})
	for name, c := range map[string]struct {
		status int
		to     string
		why    string
	}{
		"another host": {307, other.URL + "/rpc", "redirects to another host are refused"},
		"by GET":       {303, "/rpc", "only the redirects 307 and 308 are followed"},
		"for ever":     {308, "/rpc", "redirects come without an end"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, peer := remote(t, a2atest.Completing("hi"))
			peer.Intercept(func(w http.ResponseWriter, request *http.Request, m string, _ http.Handler) bool {
				if m != a2atest.Send {
					return false
				}
				http.Redirect(w, request, c.to, c.status)
				return true
			})
			_, err := r.call("hello")
			require.Contains(t, classified(t, err, local.Permanent, a2a.CodeRefused).Message, c.why)
		})
	}
	t.Cleanup(func() { require.Zero(t, elsewhere.Load()) })
}

func TestARunHasItsTime(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	defer close(done)
	clock := &clock{}
	clock.set(time.Now())
	peer := a2atest.New(t, a2atest.Until(done, "late"))
	r := newRun(t, build(t, a2a.Config{Now: clock.now}, endpoint(peer.URL, nil)))
	r.must("work")
	clock.set(clock.now().Add(time.Hour - 100*time.Millisecond))
	soon := r.must()
	require.Equal(t, 101*time.Millisecond, soon.After, "no look is much later than the end of the run's time")
	clock.set(clock.now().Add(soon.After))
	result := r.must()
	require.Equal(t, backend.TimeoutStatus(), result.Status)
	require.Equal(t, backend.TerminationReason{Kind: backend.Stopped, Detail: "timeout"}, result.Termination)
	require.Equal(t, "timeout", *result.StatusReason)
	require.Len(t, peer.Canceled(), 1, "the remote is told")
	require.NoError(t, r.abort(), "and nobody needs to tell it again")
}

func TestARunWhoseTimeIsOverEndsAlsoWhenNobodyAnswers(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	defer close(done)
	clock := &clock{}
	clock.set(time.Now())
	peer := a2atest.New(t, a2atest.Until(done, "late"))
	r := newRun(t, build(t, a2a.Config{Now: clock.now, CardTTL: 10 * time.Hour}, endpoint(peer.URL, nil)))
	r.must("work")
	peer.Intercept(func(w http.ResponseWriter, _ *http.Request, m string, _ http.Handler) bool {
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	clock.set(clock.now().Add(2 * time.Hour))
	require.Equal(t, backend.TimeoutStatus(), r.must().Status)
}

func TestAnAnswerAfterTheTimeCounts(t *testing.T) {
	t.Parallel()
	clock := &clock{}
	clock.set(time.Now())
	peer := a2atest.New(t, a2atest.Completing("unused"))
	state := func(s sdk.TaskState) *sdk.Task {
		return &sdk.Task{ID: "t", ContextID: "c", Status: sdk.TaskStatus{State: s}}
	}
	answerWith(peer, a2atest.Send, state(sdk.TaskStateWorking), state(sdk.TaskStateCompleted))
	r := newRun(t, build(t, a2a.Config{Now: clock.now}, endpoint(peer.URL, nil)))
	r.must("work")
	clock.set(clock.now().Add(2 * time.Hour))
	require.Equal(t, backend.CompletedStatus(), r.must().Status)
	require.Zero(t, peer.Calls(a2atest.Cancel))
}

func TestCallsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	defer close(done)
	r, peer := remote(t, a2atest.Until(done, "never"))
	r.must("work")
	reached := make(chan struct{})
	peer.Intercept(func(_ http.ResponseWriter, request *http.Request, m string, _ http.Handler) bool {
		close(reached)
		<-request.Context().Done()
		return true
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-reached
		cancel(errTest)
	}()
	_, err := r.backend.ExecuteRoot(ctx, r.request())
	require.ErrorIs(t, err, errTest)
}
