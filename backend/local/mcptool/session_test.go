package mcptool_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/mcptool"
)

var recoveries = []agent.Recovery{agent.ReadOnly, agent.Idempotent, agent.Unsafe}

func afterSend(recovery agent.Recovery) local.ErrorKind {
	if recovery == agent.Unsafe {
		return local.Unknown
	}
	return local.Transient
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	require.NoError(t, err)
	return strings.Fields(string(data))
}

// quick opens again after a moment.
func quick() mcptool.Config {
	return mcptool.Config{MinBackOff: 10 * time.Millisecond, MaxBackOff: 50 * time.Millisecond}
}

// again calls until the server is back.
func again(t *testing.T, set *mcptool.Set) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		_, err := set.Find("s_echo").Call(t.Context(), invocation(`{}`), nil)
		require.NoError(c, err)
	}, soon, 10*time.Millisecond)
}

func TestCaseB5_AServerKilledInACallLeavesItsOutcomeToTheRecoveryClass(t *testing.T) {
	t.Parallel()
	for _, recovery := range recoveries {
		t.Run(string(recovery), func(t *testing.T) {
			t.Parallel()
			log := t.TempDir() + "/calls"
			declared := stdio("plain", nil)
			declared.Recovery = recovery
			set := newSet(t, newServers(t, quick()), declared)
			done := make(chan error, 1)
			go func() {
				_, err := set.Find("s_block").Call(t.Context(), invocation(`{"log":"`+log+`"}`), nil)
				done <- err
			}()
			require.Eventually(t, func() bool { return len(lines(t, log)) == 1 }, soon, 5*time.Millisecond)
			pid, err := strconv.Atoi(lines(t, log)[0])
			require.NoError(t, err)
			process, err := os.FindProcess(pid)
			require.NoError(t, err)
			require.NoError(t, process.Kill())
			failed(t, <-done, afterSend(recovery), "tool_connection_lost")
			require.Len(t, lines(t, log), 1, "nobody sends it again")
			again(t, set)
		})
	}
}

func TestAConnectionCutInACall(t *testing.T) {
	t.Parallel()
	for _, recovery := range recoveries {
		t.Run(string(recovery), func(t *testing.T) {
			t.Parallel()
			f := newFake("plain")
			var cut atomic.Pointer[func()]
			url := f.http(t, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Header.Get("X-Cut") == "" || r.Method != http.MethodPost {
						next.ServeHTTP(w, r)
						return
					}
					ctx, cancel := context.WithCancel(r.Context())
					hangUp := func() {
						conn, _, err := http.NewResponseController(w).Hijack()
						if err == nil {
							_ = conn.Close()
						}
						cancel()
					}
					cut.Store(&hangUp)
					next.ServeHTTP(w, r.WithContext(ctx))
				})
			})
			declared := overHTTP(url)
			declared.Recovery, declared.Headers = recovery, map[string]string{"X-Cut": "${TOKEN}"}
			set := newSet(t, newServers(t, quick()), declared)
			require.Equal(t, `"{}"`, succeed(t, set, "s_echo", `{}`))
			done := make(chan error, 1)
			go func() {
				_, err := set.Find("s_block").Call(t.Context(), invocation(`{}`), nil)
				done <- err
			}()
			await(t, f.entered)
			(*cut.Load())()
			failed(t, <-done, afterSend(recovery), "tool_connection_lost")
			require.Equal(t, 1, f.count("block"))
		})
	}
}

func TestNothingSentIsTransientForEveryClass(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	refusing := "http://" + listener.Addr().String() + "/?key=${TOKEN}"
	require.NoError(t, listener.Close())
	for name, declared := range map[string]agent.Tool{
		"refused": overHTTP(refusing), "no program": {Name: "s", Command: []string{"/no/such/s3cret"}}, "exits": stdio("exit", nil),
	} {
		for _, recovery := range recoveries {
			declared.Recovery = recovery
			set := newSet(t, newServers(t, mcptool.Config{MinBackOff: time.Minute, MaxBackOff: time.Minute}), declared)
			_, err := call(t, t.Context(), set, "s_echo", `{}`)
			failed(t, err, local.Transient, "mcp_unavailable")
			require.InDelta(t, time.Minute, wish(t, err), float64(10*time.Second), name)
			_, err = set.Tools(t.Context())
			failed(t, err, local.Transient, "mcp_unavailable")
		}
	}
}

func TestCaseD1_AHungListHasItsOwnTime(t *testing.T) {
	t.Parallel()
	cfg := quick()
	cfg.ListTimeout = 200 * time.Millisecond
	f := newFake("hung")
	set := newSet(t, newServers(t, cfg), overHTTP(f.http(t, nil)))
	began := time.Now()
	_, err := set.Tools(t.Context())
	failed(t, err, local.Transient, "mcp_unavailable")
	require.Less(t, time.Since(began), soon/2, "a call has more time than that")
	f.hung.Store(false)
	again(t, set)
	f.hung.Store(true) // the list is kept: nobody asks again
	tools, err := set.Tools(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, tools)
}

func TestCaseD1_AServerThatNeverAnswersIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	cfg := quick()
	cfg.ListTimeout, cfg.CloseTimeout = 100*time.Millisecond, 100*time.Millisecond
	set := newSet(t, newServers(t, cfg), stdio("deaf", nil))
	_, err := set.Tools(t.Context())
	failed(t, err, local.Transient, "mcp_unavailable")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = call(t, ctx, set, "s_echo", `{}`)
	failed(t, err, local.Transient, "canceled")
}

func TestCancelTellsTheServerAndReturnsAtOnce(t *testing.T) {
	t.Parallel()
	for _, recovery := range recoveries {
		t.Run(string(recovery), func(t *testing.T) {
			t.Parallel()
			f := newFake("plain")
			declared := overHTTP(f.http(t, nil))
			declared.Recovery = recovery
			set := newSet(t, newServers(t, quick()), declared)
			cause := errors.New("user cancel")
			ctx, cancel := context.WithCancelCause(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := set.Find("s_block").Call(ctx, invocation(`{}`), nil)
				done <- err
			}()
			await(t, f.entered)
			began := time.Now()
			cancel(cause)
			err := <-done
			require.Less(t, time.Since(began), soon/2, "the call has more time than that")
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, err, cause)
			failed(t, err, afterSend(recovery), "canceled")
			await(t, f.canceled)
			require.Equal(t, `"{}"`, succeed(t, set, "s_echo", `{}`), "the session goes on")
		})
	}
}

func TestCancelReachesAStartedServer(t *testing.T) {
	t.Parallel()
	log := t.TempDir() + "/calls"
	set := newSet(t, newServers(t, quick()), stdio("plain", nil))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	done := make(chan error, 1)
	go func() {
		_, err := set.Find("s_block").Call(ctx, invocation(`{"log":"`+log+`"}`), nil)
		done <- err
	}()
	require.Eventually(t, func() bool { return len(lines(t, log)) == 1 }, soon, 5*time.Millisecond)
	cancel()
	failed(t, <-done, local.Unknown, "canceled")
	require.Eventually(t, func() bool { return len(lines(t, log)) == 2 }, soon, 5*time.Millisecond)
}

func TestATimeoutIsByTheRecoveryClass(t *testing.T) {
	t.Parallel()
	declared := overHTTP(newFake("plain").http(t, nil))
	set := newSet(t, newServers(t, quick()), declared)
	again(t, set) // the time is for the call alone
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	_, err := call(t, ctx, set, "s_block", `{}`)
	failed(t, err, local.Unknown, "tool_timeout")
}

func TestTheListIsReadAgainWhenItChanged(t *testing.T) {
	t.Parallel()
	for name, declared := range transports(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := newSet(t, newServers(t, quick()), declared)
			require.Equal(t, `"ok"`, succeed(t, set, "s_grow", `{}`))
			require.Eventually(t, func() bool { return set.Find("s_grown") != nil }, soon, 5*time.Millisecond)
			require.Equal(t, `"grown"`, succeed(t, set, "s_grown", `{}`))
		})
	}
}

func TestAServerThatDiesIsStartedAgain(t *testing.T) {
	t.Parallel()
	log := t.TempDir() + "/starts"
	set := newSet(t, newServers(t, quick()), stdio("plain", map[string]string{"START_LOG": log}))
	for range 3 {
		again(t, set)
		_, err := call(t, t.Context(), set, "s_die", `{}`)
		failed(t, err, local.Unknown, "tool_connection_lost")
	}
	again(t, set)
	require.GreaterOrEqual(t, len(lines(t, log)), 4)
}

func TestAForgottenSessionIsOpenedAgain(t *testing.T) {
	t.Parallel()
	var current atomic.Pointer[http.Handler]
	f := newFake("plain")
	url := f.http(t, func(next http.Handler) http.Handler {
		current.Store(&next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*current.Load()).ServeHTTP(w, r) })
	})
	set := newSet(t, newServers(t, quick()), overHTTP(url))
	require.Equal(t, `"{}"`, succeed(t, set, "s_echo", `{}`))
	restarted := newFake("plain")
	fresh := restarted.handler()
	current.Store(&fresh)
	again(t, set)
	require.Equal(t, 1, restarted.count("echo"))
}

func TestStatuses(t *testing.T) {
	t.Parallel()
	for _, recovery := range recoveries {
		var status atomic.Int32
		f := newFake("plain")
		url := f.http(t, func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if code := status.Load(); code != 0 && r.Method == http.MethodPost {
					w.Header().Set("Retry-After", "7")
					w.Header().Set("Location", "http://127.0.0.1:1/")
					w.WriteHeader(int(code))
					_, _ = w.Write([]byte("s3cret"))
					return
				}
				next.ServeHTTP(w, r)
			})
		})
		declared := overHTTP(url)
		declared.Recovery = recovery
		set := newSet(t, newServers(t, quick()), declared)
		try := func(code int32) error {
			status.Store(0)
			again(t, set)
			status.Store(code)
			_, err := call(t, t.Context(), set, "s_echo", `{}`)
			return err
		}
		err := try(429)
		failed(t, err, local.Transient, "tool_rate_limited")
		require.Equal(t, 7*time.Second, wish(t, err))
		err = try(503)
		failed(t, err, local.Transient, "tool_unavailable")
		require.Equal(t, 7*time.Second, wish(t, err))
		failed(t, try(500), afterSend(recovery), "tool_failed")
		failed(t, try(502), afterSend(recovery), "tool_failed")
		failed(t, try(404), local.Transient, "mcp_session_lost")
		failed(t, try(400), local.Transient, "mcp_session_lost")
		for _, code := range []int32{401, 403, 307} {
			status.Store(0)
			again(t, set)
			status.Store(code)
			result, err := call(t, t.Context(), set, "s_echo", `{}`)
			require.NoError(t, err)
			require.True(t, result.IsError)
			require.Contains(t, string(result.Content), strconv.Itoa(int(code)))
			require.NotContains(t, string(result.Content), "s3cret")
		}
	}
}

func TestHeadersReachTheServer(t *testing.T) {
	t.Parallel()
	var refused atomic.Int32
	url := newFake("plain").http(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer s3cret" {
				refused.Add(1)
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	declared := overHTTP(url)
	declared.Headers = map[string]string{"authorization": "Bearer ${TOKEN}"}
	set := newSet(t, newServers(t, quick()), declared)
	require.Equal(t, `"{}"`, succeed(t, set, "s_echo", `{}`))
	require.Zero(t, refused.Load())

	set = newSet(t, newServers(t, quick()), overHTTP(url))
	_, err := set.Tools(t.Context())
	failed(t, err, local.Transient, "mcp_unavailable")
	require.ErrorContains(t, err, "401 Unauthorized")
}
