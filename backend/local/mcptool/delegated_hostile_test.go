package mcptool_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// hostile declares a server with what stands around it.
func hostile(t *testing.T, around func(http.Handler) http.Handler) agent.Tool {
	t.Helper()
	url := newFake("plain").http(t, around)
	declared := overHTTP(url)
	declared.Auth = agent.AuthDelegation
	return declared
}

func TestATokenDoesNotFollowARedirect(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	for _, status := range []int{301, 302, 303, 307, 308} {
		declared := hostile(t, func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, status) })
		})
		own, done := delegated(t, newServers(t, quick()), declared).For(local.Claim{Bearer: (&purse{token: "ada-1"}).bearer})
		_, err := own.Tools(t.Context())
		failed(t, err, local.Transient, "mcp_unavailable")
		done(false)
	}
	require.Zero(t, elsewhere.Load())
}

// TestAServerThatAlwaysRefusesIsAskedAFewTimes: the attempts of a claim are apart from each other.
func TestAServerThatAlwaysRefusesIsAskedAFewTimes(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	declared := hostile(t, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="http://127.0.0.1:1/x"`)
			http.Error(w, "who are you", http.StatusUnauthorized)
		})
	})
	cfg := quick()
	cfg.MinBackOff, cfg.MaxBackOff = time.Minute, time.Minute
	own, done := delegated(t, newServers(t, cfg), declared).For(local.Claim{Bearer: (&purse{token: "ada-1"}).bearer})
	defer done(false)
	for range 50 {
		standIn(t, own, "does not take the caller's token")
		require.True(t, ask(t, own, "s_whoami", `{}`).IsError)
	}
	require.LessOrEqual(t, asked.Load(), int32(4))
}

// TestAServerThatHangsAtTheEndOfItsSessionHoldsNothingUp: the end of a claim does not wait, and the program's has a bound.
func TestAServerThatHangsAtTheEndOfItsSessionHoldsNothingUp(t *testing.T) {
	t.Parallel()
	hung := make(chan struct{}, 10)
	declared := hostile(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodDelete {
				hung <- struct{}{}
				<-r.Context().Done()
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	cfg := quick()
	cfg.CloseTimeout = 100 * time.Millisecond
	servers := newServers(t, cfg)
	own, done := delegated(t, servers, declared).For(local.Claim{Bearer: (&purse{token: "ada-1"}).bearer})
	_, err := own.Tools(t.Context())
	require.NoError(t, err)
	done(false)
	await(t, hung)
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		servers.Close()
	}()
	await(t, closed)
}

// TestAnAnswerOfAServerHasABound: neither one that never ends, nor a list of tools in many large pages, is kept whole.
func TestAnAnswerOfAServerHasABound(t *testing.T) {
	t.Parallel()
	var written atomic.Int64
	endless := func(w http.ResponseWriter, contentType string) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":"`))
		for piece := []byte(strings.Repeat("x", 1<<20)); written.Load() < 200<<20; {
			n, err := w.Write(piece)
			if written.Add(int64(n)); err != nil {
				return
			}
		}
	}
	for _, contentType := range []string{"application/json", "text/event-stream", "application/json; charset=utf-8"} {
		written.Store(0)
		declared := hostile(t, func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { endless(w, contentType) })
		})
		own, done := delegated(t, newServers(t, quick()), declared).For(local.Claim{Bearer: (&purse{token: "ada-1"}).bearer})
		_, err := own.Tools(t.Context())
		require.Error(t, err)
		require.Less(t, written.Load(), int64(100<<20), contentType)
		done(false)
	}
}

func TestAListOfToolsHasABound(t *testing.T) {
	t.Parallel()
	pages := &atomic.Int32{}
	f := newFake("plain")
	f.server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			result, err := next(ctx, method, req)
			if list, ok := result.(*mcp.ListToolsResult); ok {
				large := *list.Tools[0]
				large.Description = strings.Repeat("x", 4<<20)
				list.Tools, list.NextCursor = []*mcp.Tool{&large}, "more"
				pages.Add(1)
			}
			return result, err
		}
	})
	// The fake knows no such cursor, and is asked for the first page again and again.
	f.server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if params, ok := req.GetParams().(*mcp.ListToolsParams); ok && params != nil {
				params.Cursor = ""
			}
			return next(ctx, method, req)
		}
	})
	declared := overHTTP(f.http(t, nil))
	declared.Auth = agent.AuthDelegation
	own, done := delegated(t, newServers(t, quick()), declared).For(local.Claim{Bearer: func(context.Context, execution.Credential) (execution.Credential, error) {
		return execution.NewCredential("ada-1"), nil
	}})
	defer done(false)
	_, err := own.Tools(t.Context())
	failed(t, err, local.Transient, "mcp_unavailable")
	require.LessOrEqual(t, pages.Load(), int32(10))
	require.Positive(t, pages.Load())
}
