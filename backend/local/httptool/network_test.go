package httptool_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
)

func TestFailuresBeforeTheRequestAreTransientForEveryClass(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	refusing := "http://" + listener.Addr().String() + "/?key=${TOKEN}"
	require.NoError(t, listener.Close())
	// Accepts nothing that it would answer: the TLS handshake gets no reply in clear text.
	noTLS := rawServer(t, func(conn net.Conn) { _, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n\r\n") })
	for _, recovery := range recoveries {
		for _, url := range []string{refusing, "https" + noTLS[len("http"):]} {
			_, err := newTool(t, agent.Tool{URL: url, Recovery: recovery}).Call(t.Context(), invocation(), nil)
			failed(t, err, local.Transient, "tool_unreachable")
		}
	}
}

func TestATimeoutBeforeTheRequestIsTransientForEveryClass(t *testing.T) {
	t.Parallel()
	silent := rawServer(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }) // never answers the handshake
	for _, recovery := range recoveries {
		_, err := newTool(t, agent.Tool{URL: "https" + silent[len("http"):], Recovery: recovery, Timeout: 50 * time.Millisecond}).
			Call(t.Context(), invocation(), nil)
		failed(t, err, local.Transient, "tool_timeout")
	}
}

func TestCaseB5_AConnectionCutAfterTheRequestIsUnknownUnlessItMayBeSentAgain(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]string{
		"no answer":         "",
		"half a header":     "HTTP/1.1 200 OK\r\nContent-Le",
		"half a body":       "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"a\":",
		"half a chunk":      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nabc",
		"not HTTP":          "hello\r\n",
		"an endless header": "HTTP/1.1 200 OK\r\nX: " + string(make([]byte, 100<<10)),
	} {
		for _, recovery := range recoveries {
			t.Run(name+" "+string(recovery), func(t *testing.T) {
				t.Parallel()
				var calls atomic.Int32
				url := rawServer(t, func(conn net.Conn) {
					if readRequest(conn) {
						calls.Add(1)
						_, _ = io.WriteString(conn, reply)
					}
				})
				_, err := newTool(t, agent.Tool{URL: url, Recovery: recovery}).Call(t.Context(), invocation(), nil)
				failed(t, err, afterSend(recovery), "tool_connection_lost")
				require.EqualValues(t, 1, calls.Load())
			})
		}
	}
}

func TestAClientErrorIsDefiniteEvenWithHalfABody(t *testing.T) {
	t.Parallel()
	url := rawServer(t, func(conn net.Conn) {
		if readRequest(conn) {
			_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\nContent-Length: 100\r\n\r\nno suc")
		}
	})
	answer, err := newTool(t, agent.Tool{URL: url, Recovery: agent.Unsafe}).Call(t.Context(), invocation(), nil)
	require.NoError(t, err)
	require.True(t, answer.Result.IsError)
	require.Equal(t, `"no suc"`, string(answer.Result.Content))
}

// A transport sends a request with an Idempotency-Key again when a kept connection turns out to be dead. The server here
// carries every call out and then hangs up: an unsafe or a reconcile call must reach it once.
func TestCaseB7_ACallIsNeverSentTwiceByTheTransport(t *testing.T) {
	t.Parallel()
	for _, recovery := range recoveries {
		t.Run(string(recovery), func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			url := rawServer(t, func(conn net.Conn) {
				for first := true; readRequest(conn); first = false {
					calls.Add(1)
					if !first {
						return // carried out, and no answer
					}
					_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
				}
			})
			tool := newTool(t, agent.Tool{URL: url, Recovery: recovery})
			_, err := tool.Call(t.Context(), invocation(), nil)
			require.NoError(t, err)
			_, err = tool.Call(t.Context(), invocation(), nil)
			require.NoError(t, err)
			if recovery == agent.Unsafe || recovery == agent.Reconcile {
				require.EqualValues(t, 2, calls.Load())
			}
		})
	}
}

func TestTimeoutAfterTheRequestIsLikeANetworkFailure(t *testing.T) {
	t.Parallel()
	for name, beginning := range map[string]string{
		"no answer":   "",
		"a slow body": "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"a\":",
	} {
		for _, recovery := range recoveries {
			t.Run(name+" "+string(recovery), func(t *testing.T) {
				t.Parallel()
				url := rawServer(t, func(conn net.Conn) {
					if readRequest(conn) {
						_, _ = io.WriteString(conn, beginning)
						_, _ = io.Copy(io.Discard, conn) // until the client hangs up
					}
				})
				tool := newTool(t, agent.Tool{URL: url, Recovery: recovery, Timeout: 100 * time.Millisecond})
				_, err := tool.Call(t.Context(), invocation(), nil)
				failed(t, err, afterSend(recovery), "tool_timeout")
			})
		}
	}
}

func TestCancelClosesTheConnectionAtOnce(t *testing.T) {
	t.Parallel()
	for name, beginning := range map[string]string{
		"before the answer": "",
		"inside the body":   "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"a\":",
	} {
		for _, recovery := range recoveries {
			t.Run(name+" "+string(recovery), func(t *testing.T) {
				t.Parallel()
				reached, closed := make(chan struct{}), make(chan struct{})
				url := rawServer(t, func(conn net.Conn) {
					if readRequest(conn) {
						_, _ = io.WriteString(conn, beginning)
						close(reached)
						_, _ = io.Copy(io.Discard, conn)
						close(closed)
					}
				})
				tool := newTool(t, agent.Tool{URL: url, Recovery: recovery})
				cause := errors.New("user cancel")
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				done := make(chan error, 1)
				go func() {
					_, err := tool.Call(ctx, invocation(), nil)
					done <- err
				}()
				await(t, reached)
				begun := time.Now()
				cancel(cause)
				await(t, closed)
				err := <-done
				require.Less(t, time.Since(begun), soon/2, "the call has more time than that")
				require.ErrorIs(t, err, context.Canceled)
				require.ErrorIs(t, err, cause)
				failed(t, err, afterSend(recovery), "canceled")
			})
		}
	}
}

func TestACallWhoseContextHasEndedIsNotSent(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := newTool(t, agent.Tool{URL: server.URL, Recovery: agent.Unsafe}).Call(ctx, invocation(), nil)
	require.ErrorIs(t, err, context.Canceled)
	failed(t, err, local.Transient, "canceled")
	require.Zero(t, calls.Load())
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		redirect := func(status int, to string) {
			w.Header().Set("Location", to)
			w.WriteHeader(status)
		}
		switch r.URL.Path {
		case "/307":
			redirect(http.StatusTemporaryRedirect, "/308")
		case "/308":
			redirect(http.StatusPermanentRedirect, "/end")
		case "/302":
			redirect(http.StatusFound, "/end")
		case "/303":
			redirect(http.StatusSeeOther, "/end")
		case "/other":
			redirect(http.StatusTemporaryRedirect, other.URL+"/x")
		case "/loop":
			redirect(http.StatusTemporaryRedirect, "/loop")
		case "/nowhere":
			w.WriteHeader(http.StatusTemporaryRedirect)
		default:
			body, _ := io.ReadAll(r.Body)
			_, _ = io.WriteString(w, r.Method+" "+r.Header.Get("Idempotency-Key")+" "+r.Header.Get("X-Key")+" "+string(body))
		}
	}))
	defer server.Close()
	for _, recovery := range recoveries {
		call := func(path string) (string, bool) {
			tool := newTool(t, agent.Tool{
				URL: server.URL + path, Recovery: recovery, Headers: map[string]string{"X-Key": "${TOKEN}"},
			})
			answer, err := tool.Call(t.Context(), invocation(), nil)
			require.NoError(t, err)
			return string(answer.Result.Content), answer.Result.IsError
		}
		content, isError := call("/307")
		require.False(t, isError)
		require.Contains(t, content, "POST exec_0001ARZ3NDEKTSV4RRFFQ69G5FAV:call_0_0 s3cret")
		require.Contains(t, content, "Oslo")
		for path, want := range map[string]string{
			"/302": "only the redirects 307 and 308 are followed", "/303": "only the redirects 307 and 308 are followed",
			"/other": "redirects to another host are refused", "/loop": "redirects come without an end",
			"/nowhere": "it redirects to no address",
		} {
			content, isError := call(path)
			require.True(t, isError, path)
			require.Contains(t, content, want)
		}
	}
	require.Zero(t, elsewhere.Load())
}

func await(t *testing.T, signal <-chan struct{}) {
	t.Helper()
	select {
	case <-signal:
	case <-time.After(soon):
		require.FailNow(t, "nothing happened in time")
	}
}
