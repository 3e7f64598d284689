package wiretest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

const (
	// patience bounds every wait of the suite.
	patience = time.Minute
	short    = 100 * time.Millisecond
)

// Subject is a provider under test.
type Subject struct {
	Key string // its models' key, which nothing may show
	// Build makes a model whose answers must begin within timeout and not be silent for longer than silence.
	Build func(t *testing.T, url string, timeout, silence time.Duration) local.Model
	// Begin is the beginning of an answer: the text "Hello", and Usage when the provider reports any at the beginning.
	Begin string
	Usage *execution.Usage
	// End is the rest of that answer.
	End string
	// Errors are ends of an answer with what they mean.
	Errors []StreamError
}

// StreamError is an error in the middle of an answer.
type StreamError struct {
	Event string
	Kind  local.ErrorKind
	Code  string
}

// Run tests what every provider must do when things go wrong.
func Run(t *testing.T, s Subject) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Subject){
		"every status is classified and shows no key": testStatuses,
		"an answer that breaks off is transient":      testCut,
		"an answer that falls silent is cut":          testSilent,
		"no time limits an answer under way":          testSlow,
		"an answer that does not begin is transient":  testTimeout,
		"cancel closes the connection":                testCancel,
		"a malformed answer is transient":             testMalformed,
		"no server is transient":                      testNoServer,
		"a redirect is not followed":                  testRedirect,
		"an error in the middle is classified":        testErrors,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

func (s Subject) serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// ask sends a request to a model at url and checks that no part of what comes back shows the key.
func (s Subject) ask(t *testing.T, ctx context.Context, url string, timeout, silence time.Duration) (local.ModelResponse, error) { //nolint:revive // t first
	t.Helper()
	model := s.Build(t, url, timeout, silence)
	require.NotContains(t, fmt.Sprintf("%v %+v %#v", model, model, model), s.Key)
	request := Request()
	request.Messages = []execution.Message{{Role: execution.RoleUser, Text: "Hi"}}
	response, err := model.Generate(ctx, request, &Frames{})
	for cause := err; cause != nil; cause = errors.Unwrap(cause) {
		require.NotContains(t, fmt.Sprintf("%v %+v %#v", cause, cause, cause), s.Key)
		require.NotContains(t, cause.Error(), s.Key[3:12], "nor a part of the key")
	}
	return response, err
}

func (s Subject) fails(t *testing.T, url string, kind local.ErrorKind, code string) {
	t.Helper()
	_, err := s.ask(t, t.Context(), url, patience, patience)
	classified(t, err, kind, code)
}

func classified(t *testing.T, err error, kind local.ErrorKind, code string) {
	t.Helper()
	failure := failureOf(t, err)
	require.Equal(t, code, failure.Code, failure.Message)
	require.Equal(t, kind, failure.Kind)
	require.NotEmpty(t, failure.Message)
}

func failureOf(t *testing.T, err error) *local.Error {
	t.Helper()
	var failure *local.Error
	require.ErrorAs(t, err, &failure)
	return failure
}

func stream(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, text)
	w.(http.Flusher).Flush()
}

func testStatuses(t *testing.T, s Subject) {
	t.Helper()
	const body = `{"type":"error","error":{"message":%q,"type":%q,"code":%q}}`
	for name, c := range map[string]struct {
		status        int
		message, word string // of the body
		kind          local.ErrorKind
		code          string
		header        [2]string
		retry         time.Duration
		says          string
	}{
		"400":                 {status: 400, message: "temperature is off", kind: local.Permanent, code: "invalid_request", says: "temperature is off"},
		"400 context":         {status: 400, message: "prompt is too long: 9 tokens > 8 maximum", kind: local.Permanent, code: "context_length"},
		"400 context code":    {status: 400, message: "no", word: "context_length_exceeded", kind: local.Permanent, code: "context_length"},
		"400 filter":          {status: 400, message: "no", word: "content_filter", kind: local.Permanent, code: "content_filter"},
		"400 with the key":    {status: 400, message: "bad key " + s.Key, kind: local.Permanent, code: "invalid_request"},
		"400 with half of it": {status: 400, message: "bad key " + s.Key[:12] + "***", kind: local.Permanent, code: "invalid_request"},
		"401":                 {status: 401, message: "invalid key " + s.Key, kind: local.Permanent, code: "unauthorized"},
		"402":                 {status: 402, message: "pay", kind: local.Permanent, code: "payment_required"},
		"403":                 {status: 403, message: "no " + s.Key, kind: local.Permanent, code: "forbidden"},
		"404":                 {status: 404, message: "no such model", kind: local.Permanent, code: "model_not_found"},
		"408":                 {status: 408, kind: local.Transient, code: "timeout"},
		"409":                 {status: 409, kind: local.Transient, code: "conflict"},
		"413":                 {status: 413, kind: local.Permanent, code: "request_too_large"},
		"422":                 {status: 422, kind: local.Permanent, code: "invalid_request"},
		"429 seconds":         {status: 429, kind: local.Transient, code: "rate_limited", header: [2]string{"Retry-After", "7"}, retry: 7 * time.Second},
		"429 ms":              {status: 429, kind: local.Transient, code: "rate_limited", header: [2]string{"Retry-After-Ms", "1500"}, retry: 1500 * time.Millisecond},
		"429 quota":           {status: 429, word: "insufficient_quota", kind: local.Transient, code: "insufficient_quota"},
		"500":                 {status: 500, message: s.Key, kind: local.Transient, code: "model_unavailable"},
		"502":                 {status: 502, kind: local.Transient, code: "model_unavailable"},
		"503":                 {status: 503, kind: local.Transient, code: "overloaded", header: [2]string{"Retry-After", "3"}, retry: 3 * time.Second},
		"504":                 {status: 504, kind: local.Transient, code: "model_unavailable"},
		"529":                 {status: 529, kind: local.Transient, code: "overloaded"},
		"204":                 {status: 204, kind: local.Transient, code: local.CodeMalformedResponse},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			url := s.serve(t, func(w http.ResponseWriter, r *http.Request) {
				calls++
				_, _ = io.Copy(io.Discard, r.Body)
				if c.header[0] != "" {
					w.Header().Set(c.header[0], c.header[1])
				}
				w.WriteHeader(c.status)
				_, _ = fmt.Fprintf(w, body, c.message, c.word, c.word)
			})
			_, err := s.ask(t, t.Context(), url, patience, patience)
			classified(t, err, c.kind, c.code)
			failure := failureOf(t, err)
			require.Equal(t, c.retry, failure.RetryAfter)
			require.Contains(t, failure.Message, c.says)
			require.Equal(t, 1, calls, "retries are not the adapter's")
		})
	}
	t.Run("a page that is no JSON", func(t *testing.T) {
		t.Parallel()
		url := s.serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, "<html>"+s.Key)
		})
		s.fails(t, url, local.Transient, "model_unavailable")
	})
}

func testCut(t *testing.T, s Subject) {
	t.Helper()
	for name, cut := range map[string]func(http.ResponseWriter){
		"closed": func(http.ResponseWriter) {},
		"broken": func(w http.ResponseWriter) {
			connection, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_ = connection.Close()
			}
		},
		"in the middle of an event": func(w http.ResponseWriter) { stream(w, s.End[:len(s.End)/3]) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := s.serve(t, func(w http.ResponseWriter, _ *http.Request) {
				stream(w, s.Begin)
				cut(w)
			})
			response, err := s.ask(t, t.Context(), url, patience, patience)
			classified(t, err, local.Transient, "stream_cut")
			soFar(t, s, response.Usage)
			response.Usage = nil
			require.Zero(t, response)
		})
	}
}

func testSilent(t *testing.T, s Subject) {
	t.Helper()
	gone := make(chan struct{})
	url := s.serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		stream(w, s.Begin)
		<-r.Context().Done()
		close(gone)
	})
	response, err := s.ask(t, t.Context(), url, patience, 5*short)
	classified(t, err, local.Transient, "stream_silent")
	soFar(t, s, response.Usage)
	wait(t, gone)
}

// soFar checks the usage of an answer that broke off: what was reported is not lost, and what was not is an estimate.
func soFar(t *testing.T, s Subject, usage *execution.Usage) {
	t.Helper()
	require.NotNil(t, usage)
	require.True(t, usage.Partial)
	require.Positive(t, usage.InputTokens)
	require.Positive(t, usage.OutputTokens)
	require.Equal(t, usage.InputTokens+usage.OutputTokens, usage.TotalTokens)
	if s.Usage != nil {
		require.Equal(t, s.Usage.InputTokens, usage.InputTokens)
		require.GreaterOrEqual(t, usage.OutputTokens, s.Usage.OutputTokens)
	}
}

func testSlow(t *testing.T, s Subject) {
	t.Helper()
	const pieces = 12
	url := s.serve(t, func(w http.ResponseWriter, r *http.Request) {
		ticker := time.NewTicker(short)
		defer ticker.Stop()
		stream(w, s.Begin)
		for range pieces {
			select {
			case <-ticker.C:
				stream(w, ": still here\n\n")
			case <-r.Context().Done():
				return
			}
		}
		stream(w, s.End)
	})
	// Longer in all than the time to begin and than the silence allowed.
	response, err := s.ask(t, t.Context(), url, pieces*short*3/4, pieces*short*3/4)
	require.NoError(t, err)
	require.Equal(t, "stop", response.FinishReason)
}

func testTimeout(t *testing.T, s Subject) {
	t.Helper()
	gone := make(chan struct{})
	url := s.serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
		close(gone)
	})
	response, err := s.ask(t, t.Context(), url, short, patience)
	classified(t, err, local.Transient, "timeout")
	require.True(t, response.Usage.Partial, "it was sent")
	require.Positive(t, response.Usage.InputTokens)
	wait(t, gone)
}

func testCancel(t *testing.T, s Subject) {
	t.Helper()
	for name, begin := range map[string]string{"before the answer": "", "within the answer": s.Begin} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun, gone := make(chan struct{}), make(chan struct{})
			url := s.serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				if begin != "" {
					stream(w, begin)
				}
				close(begun)
				<-r.Context().Done()
				close(gone)
			})
			cause := errors.New("user cancel")
			ctx, cancel := context.WithCancelCause(t.Context())
			var canceled time.Time
			go func() {
				<-begun
				canceled = time.Now()
				cancel(cause)
			}()
			response, err := s.ask(t, ctx, url, patience, patience)
			require.ErrorIs(t, err, cause)
			require.True(t, response.Usage.Partial)
			require.Positive(t, response.Usage.InputTokens, "the request was sent")
			wait(t, gone)
			require.Less(t, time.Since(canceled), time.Second, "cancel stops the spend")
		})
	}
}

func wait(t *testing.T, gone <-chan struct{}) {
	t.Helper()
	select {
	case <-gone:
	case <-time.After(patience):
		require.Fail(t, "the connection stays open")
	}
}

func testMalformed(t *testing.T, s Subject) {
	t.Helper()
	for name, text := range map[string]string{
		"no JSON":     "event: message_start\ndata: {\"a\":\n\n",
		"a web page":  "<html><body>Welcome</body></html>",
		"nothing":     "",
		"another one": "event: x\ndata: [1]\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.fails(t, s.serve(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, text) }),
				local.Transient, local.CodeMalformedResponse)
		})
	}
}

func testNoServer(t *testing.T, s Subject) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	s.fails(t, "http://"+listener.Addr().String(), local.Transient, "connection_failed")
}

func testRedirect(t *testing.T, s Subject) {
	t.Helper()
	other := s.serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") })
	url := s.serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other+"/?key="+s.Key, http.StatusTemporaryRedirect)
	})
	_, err := s.ask(t, t.Context(), url, patience, patience)
	classified(t, err, local.Permanent, "redirected")
	require.ErrorContains(t, err, "baseURL")
}

func testErrors(t *testing.T, s Subject) {
	t.Helper()
	for _, c := range s.Errors {
		url := s.serve(t, func(w http.ResponseWriter, _ *http.Request) {
			stream(w, s.Begin)
			stream(w, strings.ReplaceAll(c.Event, "KEY", s.Key))
		})
		s.fails(t, url, c.Kind, c.Code)
	}
}
