package mcptool_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/mcptool"
	"github.com/pawl-run/pawl/execution"
)

// guard is the door of a server that takes the tokens <caller>-<n>. It notes who has come how.
type guard struct {
	*fake
	declared agent.Tool

	mu       sync.Mutex
	over     map[string]bool            // guarded by mu: tokens that are refused
	refused  int                        // guarded by mu: requests
	tokens   map[string]int             // guarded by mu: requests that came with a token
	sessions map[string]map[string]bool // guarded by mu: the callers that a session or connection has had
}

func newGuard(t *testing.T, mode string) *guard {
	t.Helper()
	g := &guard{
		fake: newFake(mode), over: map[string]bool{}, tokens: map[string]int{}, sessions: map[string]map[string]bool{},
	}
	g.add("whoami", &mcp.ToolAnnotations{ReadOnlyHint: true}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text(caller(bearer(req.Extra.Header))), nil
	})
	url := g.http(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !g.admits(r) {
				w.Header().Set("WWW-Authenticate", "Bearer")
				http.Error(w, "who are you", http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	g.declared = overHTTP(url)
	g.declared.Auth, g.declared.TrustHints = agent.AuthDelegation, true
	return g
}

func bearer(header http.Header) string {
	return strings.TrimPrefix(header.Get("Authorization"), "Bearer ")
}

func caller(token string) string { return strings.Split(token, "-")[0] }

func (g *guard) admits(r *http.Request) bool {
	token := bearer(r.Header)
	g.mu.Lock()
	defer g.mu.Unlock()
	if token == "" || g.over[token] {
		g.refused++
		return false
	}
	g.tokens[token]++
	for _, way := range []string{r.RemoteAddr, r.Header.Get("Mcp-Session-Id")} {
		if way == "" {
			continue
		}
		if g.sessions[way] == nil {
			g.sessions[way] = map[string]bool{}
		}
		g.sessions[way][caller(token)] = true
	}
	return true
}

// refuse ends a token.
func (g *guard) refuse(token string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.over[token] = true
}

// seen is how many requests came with the token.
func (g *guard) seen(token string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.tokens[token]
}

// closed waits until the server has no session any more.
func (g *guard) closed(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		for range g.server.Sessions() {
			return false
		}
		return true
	}, soon, 5*time.Millisecond, "a session is left")
}

// purse is a caller's tokens, one at a time.
type purse struct {
	mu      sync.Mutex
	token   string // guarded by mu
	err     error  // guarded by mu
	next    string // guarded by mu; takes the place of token when that is refused
	broke   error  // guarded by mu; in place of next
	refused int    // guarded by mu; tokens that were
}

func (p *purse) bearer(_ context.Context, refused execution.Credential) (execution.Credential, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return execution.Credential{}, p.err
	}
	if !refused.IsZero() {
		if p.refused++; p.broke != nil {
			return execution.Credential{}, p.broke
		}
		if p.next != "" && refused.Reveal() == p.token {
			p.token = p.next
		}
	}
	return execution.NewCredential(p.token), nil
}

func (p *purse) set(token string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.token, p.err = token, err
}

func delegated(t *testing.T, servers *mcptool.Servers, declared agent.Tool) local.DelegatedSet {
	t.Helper()
	made, err := servers.Factory(t.Context(), nil, declared, lookup)
	require.NoError(t, err)
	set, ok := made.(local.DelegatedSet)
	require.True(t, ok)
	require.True(t, set.Spec().Delegated)
	return set
}

// ask calls a tool that must answer with a result.
func ask(t *testing.T, set local.ToolSet, name, arguments string) *execution.ToolResult {
	t.Helper()
	answer, err := set.Find(name).Call(t.Context(), invocation(arguments), nil)
	require.NoError(t, err)
	require.NotNil(t, answer.Result)
	return answer.Result
}

// standIn is the one tool that says why there are no others.
func standIn(t *testing.T, set local.ToolSet, why string) {
	t.Helper()
	tools, err := set.Tools(t.Context())
	require.NoError(t, err)
	require.Len(t, tools, 1)
	require.Equal(t, "s_unavailable", tools[0].Spec().Name)
	require.Contains(t, tools[0].Spec().Description, why)
	require.True(t, set.Find("s_unavailable").Spec().Delegated)
}

func TestEachClaimReachesTheServerAsItsCaller(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"plain", "legacy", "stateless"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			g := newGuard(t, mode)
			servers := newServers(t, quick())
			var wait sync.WaitGroup
			for i := range 12 {
				who := fmt.Sprintf("caller%d", i%4)
				set := delegated(t, servers, g.declared) // of another definition, reached in the same way
				own, done := set.For(local.Claim{Bearer: (&purse{token: fmt.Sprintf("%s-%d", who, i)}).bearer})
				wait.Go(func() {
					defer done(false)
					kit := local.Kit{Tools: []local.Tool{own}}
					kit.Ask(t.Context(), []string{"s_whoami"})
					if found := own.Find("s_whoami").Spec(); found.Recovery != agent.ReadOnly || !found.Delegated {
						t.Errorf("spec: %+v", found)
					}
					for range 3 {
						answer, err := own.Find("s_whoami").Call(t.Context(), invocation(`{}`), nil)
						if err != nil || string(answer.Result.Content) != `"`+who+`"` {
							t.Errorf("%s: %v %v", who, answer.Result, err)
						}
					}
				})
			}
			wait.Wait()
			g.closed(t)
			g.mu.Lock()
			defer g.mu.Unlock()
			require.Zero(t, g.refused, "every request carries a token")
			require.GreaterOrEqual(t, len(g.sessions), 12)
			for way, callers := range g.sessions {
				require.Len(t, callers, 1, way)
			}
		})
	}
}

func TestACallerIsShownItsOwnTools(t *testing.T) {
	t.Parallel()
	g := newGuard(t, "plain")
	g.server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			result, err := next(ctx, method, req)
			if list, ok := result.(*mcp.ListToolsResult); ok && caller(bearer(req.GetExtra().Header)) != "admin" {
				list.Tools = list.Tools[:1]
			}
			return result, err
		}
	})
	servers := newServers(t, quick())
	for token, want := range map[string]bool{"admin-1": true, "guest-1": false} {
		own, done := delegated(t, servers, g.declared).For(local.Claim{Bearer: (&purse{token: token}).bearer})
		tools, err := own.Tools(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, len(tools) > 1, token)
		done(false)
	}
}

func TestARenewedTokenIsUsedFromThenOn(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"plain", "legacy"} {
		g := newGuard(t, mode)
		p := &purse{token: "ada-1"}
		own, done := delegated(t, newServers(t, quick()), g.declared).For(local.Claim{Bearer: p.bearer})
		require.JSONEq(t, `"ada"`, string(ask(t, own, "s_whoami", `{}`).Content))
		p.set("ada-2", nil)
		g.refuse("ada-1")
		before := g.seen("ada-1")
		require.JSONEq(t, `"ada"`, string(ask(t, own, "s_whoami", `{}`).Content))
		require.Equal(t, before, g.seen("ada-1"))
		require.Positive(t, g.seen("ada-2"))
		p.set("", context.Canceled) // the claim is over, and gives no tokens any more
		done(false)
		g.closed(t)
		g.mu.Lock()
		require.Zero(t, g.refused)
		g.mu.Unlock()
	}
}

func TestACallerWhomTheServerDoesNotTakeIsToldSo(t *testing.T) {
	t.Parallel()
	g := newGuard(t, "plain")
	servers := newServers(t, quick())
	own, done := delegated(t, servers, g.declared).For(local.Claim{Bearer: (&purse{token: "ada-1"}).bearer})
	defer done(false)
	ask(t, own, "s_whoami", `{}`)
	g.refuse("ada-1") // revoked while it is used
	result := ask(t, own, "s_whoami", `{}`)
	require.True(t, result.IsError)
	require.Contains(t, string(result.Content), "the MCP server s does not take the caller's token for the tool s_whoami: it answered 401 Unauthorized")

	fresh, end := delegated(t, servers, g.declared).For(local.Claim{Bearer: (&purse{token: "ada-1"}).bearer})
	defer end(false)
	standIn(t, fresh, "does not take the caller's token")
	result = ask(t, fresh, "s_whoami", `{}`)
	require.True(t, result.IsError)
	require.Contains(t, string(result.Content), "does not take the caller's token")
}

func TestWithoutATokenNothingIsAsked(t *testing.T) {
	t.Parallel()
	g := newGuard(t, "plain")
	servers := newServers(t, quick())
	set := delegated(t, servers, g.declared)
	standIn(t, set, "acts for nobody")
	require.Equal(t, agent.Unsafe, set.Find("s_whoami").Spec().Recovery)
	require.True(t, set.Find("s_whoami").Spec().Delegated)
	require.Nil(t, set.Find("other"))
	result := ask(t, set, "s_whoami", `{}`)
	require.True(t, result.IsError)

	p := &purse{err: &local.Error{Kind: local.Permanent, Code: "delegation_lost", Message: "the delegation has ended"}}
	own, done := set.For(local.Claim{Bearer: p.bearer})
	defer done(false)
	standIn(t, own, "the delegation has ended")
	p.set("", &local.Error{Kind: local.Transient, Code: "delegation_unavailable", Message: "the broker is away"})
	_, err := own.Tools(t.Context())
	failed(t, err, local.Transient, "delegation_unavailable")
	_, err = own.Find("s_whoami").Call(t.Context(), invocation(`{}`), nil)
	failed(t, err, local.Transient, "mcp_unavailable")
	g.mu.Lock()
	require.Empty(t, g.tokens)
	require.Zero(t, g.refused)
	g.mu.Unlock()
	p.set("ada-1", nil) // it is back
	require.Eventually(t, func() bool {
		tools, err := own.Tools(t.Context())
		return err == nil && len(tools) > 1
	}, soon, 5*time.Millisecond)
}

func TestACallThatIsGivenUpIsToldBeforeItsSessionEnds(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"plain", "legacy"} {
		g := newGuard(t, mode)
		own, done := delegated(t, newServers(t, quick()), g.declared).For(local.Claim{Bearer: (&purse{token: "ada-1"}).bearer})
		ctx, cancel := context.WithCancel(t.Context())
		called := make(chan error, 1)
		go func() {
			_, err := own.Find("s_block").Call(ctx, invocation(`{}`), nil)
			called <- err
		}()
		await(t, g.entered)
		cancel()
		require.Error(t, <-called)
		done(false)
		await(t, g.canceled)
		g.closed(t)
	}
}

func TestServersEndWhatIsLent(t *testing.T) {
	t.Parallel()
	g := newGuard(t, "legacy")
	servers, err := mcptool.NewServers(quick())
	require.NoError(t, err)
	set := delegated(t, servers, g.declared)
	open, done := set.For(local.Claim{Bearer: (&purse{token: "ada-1"}).bearer})
	ask(t, open, "s_whoami", `{}`)
	ended, end := set.For(local.Claim{Bearer: (&purse{token: "bob-1"}).bearer})
	ask(t, ended, "s_whoami", `{}`)
	end(false)
	servers.Close()
	g.closed(t)
	done(false)
	end(false)
	late, lateDone := set.For(local.Claim{Bearer: (&purse{token: "eve-1"}).bearer})
	_, err = late.Tools(t.Context())
	failed(t, err, local.Transient, "mcp_unavailable")
	lateDone(false)
}

func TestAQuestionInADelegatedCallIsAPersons(t *testing.T) {
	t.Parallel()
	g := newGuard(t, "legacy")
	set := delegated(t, newServers(t, quick()), g.declared)
	own, done := set.For(local.Claim{Bearer: (&purse{token: "ada-1"}).bearer})
	answer, err := own.Find("s_ask").Call(t.Context(), invocation(`{"questions":1}`), nil)
	require.NoError(t, err)
	asked := question(t, answer, "question 0")
	done(false)
	again, end := set.For(local.Claim{Bearer: (&purse{token: "ada-2"}).bearer}) // of another claim
	defer end(false)
	call := invocation(`{"questions":1}`)
	call.Reply = &local.Reply{State: asked.State, Text: "Bob"}
	answer, err = again.Find("s_ask").Call(t.Context(), call, nil)
	require.NoError(t, err)
	require.Contains(t, string(answer.Result.Content), "accept Bob")
}

func TestNoTokenIsInALogOrAnError(t *testing.T) {
	t.Parallel()
	log := &buffer{}
	cfg := quick()
	cfg.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	g := newGuard(t, "legacy")
	own, done := delegated(t, newServers(t, cfg), g.declared).For(local.Claim{Bearer: (&purse{token: "ada-s3cret"}).bearer})
	ask(t, own, "s_whoami", `{}`)
	g.refuse("ada-s3cret")
	seen := new(bytes.Buffer)
	for range 3 {
		answer, err := own.Find("s_whoami").Call(t.Context(), invocation(`{}`), nil)
		_, _ = fmt.Fprintf(seen, "%v %v %+v %#v", answer.Result, err, own, err)
	}
	done(false)
	require.NotContains(t, seen.String()+log.String(), "s3cret")
}

func TestAStartedServerIsGivenNoTokens(t *testing.T) {
	t.Parallel()
	declared := stdio("plain", nil)
	declared.Auth = agent.AuthDelegation
	_, err := newServers(t, quick()).Factory(t.Context(), nil, declared, lookup)
	require.ErrorContains(t, err, "auth")
}
