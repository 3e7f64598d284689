package mcptool_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/mcptool"
)

// counted counts the requests of each method that a server is sent.
func counted(g *guard) (count func(method string) int) {
	var mu sync.Mutex
	seen := map[string]int{}
	g.server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			mu.Lock()
			seen[method]++
			mu.Unlock()
			return next(ctx, method, req)
		}
	})
	return func(method string) int {
		mu.Lock()
		defer mu.Unlock()
		return seen[method]
	}
}

// keeping is a configuration with which a session waits for the next claim for as long as a test may take.
func keeping() mcptool.Config {
	cfg := quick()
	cfg.KeepFor = time.Hour
	return cfg
}

func TestClaimsThatFollowEachOtherShareASession(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"plain", "legacy"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			g := newGuard(t, mode)
			count := counted(g)
			servers := newServers(t, keeping())
			for step := range 6 {
				p := &purse{token: fmt.Sprintf("ada-%d", step)}
				own, done := delegated(t, servers, g.declared).For(local.Claim{Name: "exec lease", Bearer: p.bearer})
				_, err := own.Tools(t.Context())
				require.NoError(t, err)
				require.JSONEq(t, `"ada"`, string(ask(t, own, "s_whoami", `{}`).Content))
				require.Positive(t, g.seen(p.token), "with the token of this claim")
				done(step < 5)
				p.set("", errors.New("the claim is over"))
			}
			g.closed(t)
			require.Equal(t, 1, count("tools/list"))
			require.LessOrEqual(t, count("initialize")+count("server/discover"), 2)
			require.Equal(t, 6, count("tools/call"))
			g.mu.Lock()
			defer g.mu.Unlock()
			require.Zero(t, g.refused)
		})
	}
}

func TestASessionIsTakenOverByNobodyElse(t *testing.T) {
	t.Parallel()
	g := newGuard(t, "legacy")
	count := counted(g)
	servers := newServers(t, keeping())
	other := g.declared
	other.Name = "r"
	open := func(name, token string, of local.DelegatedSet, tool string) {
		own, done := of.For(local.Claim{Name: name, Bearer: (&purse{token: token}).bearer})
		require.JSONEq(t, `"`+caller(token)+`"`, string(ask(t, own, tool, `{}`).Content))
		done(true)
	}
	open("one lease", "ada-1", delegated(t, servers, g.declared), "s_whoami")
	open("two lease", "bob-1", delegated(t, servers, g.declared), "s_whoami")
	open("one other", "eve-1", delegated(t, servers, g.declared), "s_whoami")
	open("one lease", "ada-2", delegated(t, servers, other), "r_whoami")
	open("", "ivy-1", delegated(t, servers, g.declared), "s_whoami")
	open("", "joe-1", delegated(t, servers, g.declared), "s_whoami")
	require.Equal(t, 6, count("tools/list"))
	open("one lease", "ada-3", delegated(t, servers, g.declared), "s_whoami")
	require.Equal(t, 6, count("tools/list"))
	g.mu.Lock() // requests that end sessions may be on their way
	defer g.mu.Unlock()
	for way, callers := range g.sessions {
		require.Len(t, callers, 1, way)
	}
}

// TestTwoClaimsOfOneExecutionAtOnceShareNothing: the first has lost its claim, perhaps, and does not know it.
func TestTwoClaimsOfOneExecutionAtOnceShareNothing(t *testing.T) {
	t.Parallel()
	g := newGuard(t, "legacy")
	count := counted(g)
	set := delegated(t, newServers(t, keeping()), g.declared)
	first, firstDone := set.For(local.Claim{Name: "one", Bearer: (&purse{token: "ada-1"}).bearer})
	second, secondDone := set.For(local.Claim{Name: "one", Bearer: (&purse{token: "ada-2"}).bearer})
	ask(t, first, "s_whoami", `{}`)
	ask(t, second, "s_whoami", `{}`)
	require.Equal(t, 2, count("tools/list"))
	firstDone(true)
	secondDone(true) // there is one already
	require.Eventually(t, func() bool { return sessions(g) == 1 }, soon, 5*time.Millisecond)
	third, thirdDone := set.For(local.Claim{Name: "one", Bearer: (&purse{token: "ada-3"}).bearer})
	ask(t, third, "s_whoami", `{}`)
	require.Equal(t, 2, count("tools/list"))
	thirdDone(false)
	g.closed(t)
}

func sessions(g *guard) (n int) {
	for range g.server.Sessions() {
		n++
	}
	return n
}

func TestASessionThatNobodyTakesOverEnds(t *testing.T) {
	t.Parallel()
	g := newGuard(t, "legacy")
	cfg := quick()
	cfg.KeepFor = 10 * time.Millisecond
	own, done := delegated(t, newServers(t, cfg), g.declared).For(local.Claim{Name: "one", Bearer: (&purse{token: "ada-1"}).bearer})
	ask(t, own, "s_whoami", `{}`)
	done(true)
	g.closed(t)
}

func TestServersEndWhatWaitsForAClaim(t *testing.T) {
	t.Parallel()
	g := newGuard(t, "legacy")
	servers, err := mcptool.NewServers(keeping())
	require.NoError(t, err)
	set := delegated(t, servers, g.declared)
	own, done := set.For(local.Claim{Name: "one", Bearer: (&purse{token: "ada-1"}).bearer})
	ask(t, own, "s_whoami", `{}`)
	done(true)
	require.Equal(t, 1, sessions(g))
	servers.Close()
	g.closed(t)
	late, end := set.For(local.Claim{Name: "one", Bearer: (&purse{token: "ada-2"}).bearer})
	_, err = late.Tools(t.Context())
	failed(t, err, local.Transient, "mcp_unavailable")
	end(true)
}

// TestWhatIsNotSoundIsNotTakenOver: a session that has died, one with a call on its way, and a lease that is over.
func TestWhatIsNotSoundIsNotTakenOver(t *testing.T) {
	t.Parallel()
	g := newGuard(t, "legacy")
	set := delegated(t, newServers(t, keeping()), g.declared)
	own, done := set.For(local.Claim{Name: "one", Bearer: (&purse{token: "ada-1"}).bearer})
	ctx, cancel := context.WithCancel(t.Context())
	called := make(chan error, 1)
	go func() {
		_, err := own.Find("s_block").Call(ctx, invocation(`{}`), nil)
		called <- err
	}()
	await(t, g.entered)
	done(true)
	g.mu.Lock()
	g.over["ada-1"] = false
	g.mu.Unlock()
	cancel()
	require.Error(t, <-called)
	g.closed(t)

	own, done = set.For(local.Claim{Name: "one", Bearer: (&purse{token: "ada-2"}).bearer})
	ask(t, own, "s_whoami", `{}`)
	done(true)
	for session := range g.server.Sessions() {
		require.NoError(t, session.Close())
	}
	own, done = set.For(local.Claim{Name: "one", Bearer: (&purse{token: "ada-3"}).bearer})
	require.Eventually(t, func() bool {
		answer, err := own.Find("s_whoami").Call(t.Context(), invocation(`{}`), nil)
		return err == nil && !answer.Result.IsError
	}, soon, 5*time.Millisecond)
	done(true)

	lost := &purse{err: &local.Error{Kind: local.Permanent, Code: "delegation_lost", Message: "the delegation has ended"}}
	own, done = set.For(local.Claim{Name: "one", Bearer: lost.bearer})
	standIn(t, own, "the delegation has ended")
	require.True(t, ask(t, own, "s_whoami", `{}`).IsError)
	done(false)
	g.closed(t)
}
