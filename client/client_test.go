package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/execution"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = time.Minute

// script answers the n-th request, from 1, with the n-th handler; the last one repeats.
func script(t *testing.T, handlers ...http.HandlerFunc) (*client.Client, *atomic.Int64) {
	t.Helper()
	var count atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := count.Add(1)
		handlers[min(int(n), len(handlers))-1](w, r)
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL+"/", client.Config{
		APIKey: "key", MinBackoff: time.Millisecond, MaxBackoff: 5 * time.Millisecond, Heartbeat: 50 * time.Millisecond,
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c, &count
}

func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func fails(status int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if len(header) == 2 {
			w.Header().Set(header[0], header[1])
		}
		http.Error(w, "a proxy's page", status)
	}
}

func aborts(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func gives(status int, value any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(value)
	}
}

var id = execution.NewID(7)

func view(state execution.State) execution.View { return execution.View{ID: id, State: state} }

func TestWhatIsSafeIsRepeated(t *testing.T) {
	t.Parallel()
	for name, call := range everyCall() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "release" {
				c, count := script(t, fails(429, "Retry-After", "0"), gives(200, struct{}{}))
				require.NoError(t, call(bounded(t), c), "it was not begun")
				require.EqualValues(t, 2, count.Load())
				for _, lost := range []http.HandlerFunc{aborts, fails(503)} {
					c, count = script(t, lost)
					require.ErrorIs(t, call(bounded(t), c), execution.ErrUnavailable, "another worker may hold it by now")
					require.EqualValues(t, 1, count.Load())
				}
				return
			}
			c, count := script(t, aborts, fails(503), fails(429), gives(200, struct{}{}))
			require.NoError(t, call(bounded(t), c))
			require.EqualValues(t, 4, count.Load())
			c, count = script(t, fails(503))
			require.ErrorIs(t, call(bounded(t), c), execution.ErrUnavailable)
			require.EqualValues(t, 4, count.Load())
			c, count = script(t, fails(500))
			require.ErrorIs(t, call(bounded(t), c), execution.ErrInternal)
			require.EqualValues(t, 1, count.Load())
		})
	}
}

func TestErrorsKeepWhatTheAPISays(t *testing.T) {
	t.Parallel()
	sent := execution.NewAPIError(execution.InteractionClosed, "answered by op-1").In("input.requestId")
	c, _ := script(t, gives(409, sent))
	_, err := c.Execution(bounded(t), id)
	require.ErrorIs(t, err, execution.ErrInteractionClosed)
	require.EqualError(t, err, sent.Error())
	for status, class := range map[int]error{
		400: execution.ErrInvalid, 401: execution.ErrUnauthenticated, 403: execution.ErrForbidden,
		404: execution.ErrNotFound, 409: execution.ErrConflict, 410: execution.ErrGone, 413: execution.ErrInvalid,
		500: execution.ErrInternal,
	} {
		c, _ := script(t, fails(status))
		_, err := c.Execution(bounded(t), id)
		require.ErrorIs(t, err, class)
	}
	c, _ = script(t, fails(429, "Retry-After", "0"))
	_, err = c.Create(bounded(t), "", execution.CreateRequest{})
	var api *execution.APIError
	require.ErrorAs(t, err, &api)
	require.Equal(t, 429, api.Status)
}

func TestAnUnreachableAPIIsUnavailableAndALeavingCallerKeepsItsError(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	c, err := client.New(server.URL, client.Config{MinBackoff: time.Millisecond})
	require.NoError(t, err)
	_, err = c.Execution(bounded(t), id)
	require.ErrorIs(t, err, execution.ErrUnavailable)
	_, err = c.Follow(bounded(t), id, 0)
	require.ErrorIs(t, err, execution.ErrUnavailable)
	ctx, cancel := context.WithCancel(bounded(t))
	cancel()
	_, err = c.Execution(ctx, id)
	require.ErrorIs(t, err, context.Canceled)
}

func TestRequestsCarryTheKeyAndTheIdempotencyKey(t *testing.T) {
	t.Parallel()
	c, _ := script(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("Authorization") != "Bearer key" || r.Header.Get("Idempotency-Key") != "k" ||
			r.Header.Get("Content-Type") != "application/json" || r.URL.Path != "/v1/executions" {
			http.Error(w, fmt.Sprint(err, r.Header, r.URL), http.StatusTeapot)
			return
		}
		w.Header().Set("Idempotency-Replayed", "true")
		gives(200, view(execution.Completed))(w, r)
		_ = body
	})
	created, err := c.Create(bounded(t), "k", execution.CreateRequest{Agent: "demo"})
	require.NoError(t, err)
	require.True(t, created.Replayed)
	require.Equal(t, execution.Completed, created.View.State)
}

func TestWhatIsNotTheAPIIsSaidToBe(t *testing.T) {
	t.Parallel()
	page := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html>\n\nhello")
	}
	moved := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://pawl.example/v1", http.StatusMovedPermanently)
	}
	for want, handler := range map[string]http.HandlerFunc{"not of Pawl's API": page, "it is at https://pawl.example/v1": moved} {
		for name, call := range everyCall() {
			c, count := script(t, handler)
			require.ErrorContains(t, call(bounded(t), c), want, name)
			require.EqualValues(t, 1, count.Load(), name)
		}
	}
	for want, handler := range map[string]http.HandlerFunc{"no stream of Pawl's API": page, "it is at https://pawl.example/v1": moved} {
		c, count := script(t, handler)
		_, err := c.Follow(bounded(t), id, 0)
		require.ErrorContains(t, err, want)
		_, err = c.FollowAll(bounded(t))
		require.ErrorContains(t, err, want)
		require.EqualValues(t, 2, count.Load())
	}
}

func TestConfigAndURLAreChecked(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "localhost:8080", "ftp://x", "http://", "http://u:p@h", "http://h?x=1", "http://h#f"} {
		_, err := client.New(url, client.Config{})
		require.Error(t, err, url)
	}
	for field, cfg := range map[string]client.Config{
		"Timeout": {Timeout: -1}, "Heartbeat": {Heartbeat: -1}, "MinBackoff": {MinBackoff: time.Hour},
		"MaxBackoff": {MaxBackoff: -1}, "Attempts": {Attempts: -1},
		"HTTPClient": {HTTPClient: &http.Client{Timeout: time.Second}},
	} {
		_, err := client.New("http://127.0.0.1:1", cfg)
		require.ErrorContains(t, err, field)
	}
}

func TestABasePathIsKept(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/behind/a proxy/v1/agents" {
			http.Error(w, r.URL.Path, http.StatusNotFound)
			return
		}
		gives(200, struct{}{})(w, r)
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL+"/behind/a%20proxy/", client.Config{})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	_, err = c.Agents(bounded(t))
	require.NoError(t, err)
}

var errStop = errors.New("stop")
