package mcptool_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/backend/local"
)

// refusals is how many requests came with a token that is refused, and how many tokens were said to be.
func refusals(g *guard, p *purse) (requests, told int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	return g.refused, p.refused
}

func TestATokenThatIsRefusedIsReplacedOnceAndTheRequestSentAgain(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"plain", "legacy", "stateless"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			g := newGuard(t, mode)
			p := &purse{token: "ada-1", next: "ada-2"}
			own, done := delegated(t, newServers(t, quick()), g.declared).For(local.Claim{Bearer: p.bearer})
			defer done(false)
			require.JSONEq(t, `"ada"`, string(ask(t, own, "s_whoami", `{}`).Content))
			g.refuse("ada-1")
			require.JSONEq(t, `"ada"`, string(ask(t, own, "s_whoami", `{}`).Content), "the call is carried out")
			requests, told := refusals(g, p)
			require.Positive(t, told)
			require.Equal(t, requests, told, "each is sent once more")

			fresh, end := delegated(t, newServers(t, quick()), g.declared).For(local.Claim{Bearer: (&purse{token: "ada-1", next: "ada-2"}).bearer})
			defer end(false)
			tools, err := fresh.Tools(t.Context())
			require.NoError(t, err)
			require.Greater(t, len(tools), 1, "a session is opened with the other token")
		})
	}
}

func TestATokenThatIsRefusedTwiceStaysRefused(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]string{"another one": "ada-2", "no other one": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGuard(t, "plain")
			p := &purse{token: "ada-1", next: next}
			own, done := delegated(t, newServers(t, quick()), g.declared).For(local.Claim{Bearer: p.bearer})
			defer done(false)
			ask(t, own, "s_whoami", `{}`)
			g.refuse("ada-1")
			g.refuse("ada-2")
			result := ask(t, own, "s_whoami", `{}`)
			require.True(t, result.IsError)
			require.Contains(t, string(result.Content), "the MCP server s does not take the caller's token for the tool s_whoami")
			requests, told := refusals(g, p)
			require.LessOrEqual(t, requests, 2*told+1, "and the end of the session")
			require.LessOrEqual(t, told, 3, "the call, and what else the session sends")
		})
	}
}

// TestAnotherTokenThatCannotBeHadIsNoUnknownOutcome: the call was refused, so it has not been carried out, whatever its class.
func TestAnotherTokenThatCannotBeHadIsNoUnknownOutcome(t *testing.T) {
	t.Parallel()
	g := newGuard(t, "plain")
	p := &purse{token: "ada-1", broke: &local.Error{Kind: local.Transient, Code: "delegation_unavailable", Message: "the broker is away"}}
	own, done := delegated(t, newServers(t, quick()), g.declared).For(local.Claim{Bearer: p.bearer})
	defer done(false)
	ask(t, own, "s_meta", `{}`)
	g.refuse("ada-1")
	_, err := own.Find("s_meta").Call(t.Context(), invocation(`{}`), nil)
	failed(t, err, local.Transient, "delegation_unavailable")

	p.mu.Lock()
	p.broke = &local.Error{Kind: local.Permanent, Code: "delegation_lost", Message: "the delegation has ended"}
	p.mu.Unlock()
	require.Eventually(t, func() bool { // a session is opened again after a moment
		answer, err := own.Find("s_meta").Call(t.Context(), invocation(`{}`), nil)
		return err == nil && answer.Result.IsError
	}, soon, quick().MinBackOff)
	result := ask(t, own, "s_meta", `{}`)
	require.Contains(t, string(result.Content), "the delegation has ended")
}
