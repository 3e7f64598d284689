package httpapi_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/auth"
	"github.com/pawl-run/pawl/execution"
)

// TestALogoutEndsTheStreamsOfItsSession: those that it opened itself, and those that were opened by a token that it made. Another
// session of the same key goes on.
func TestALogoutEndsTheStreamsOfItsSession(t *testing.T) {
	t.Parallel()
	g := withKeys(t)
	key, _ := g.key("acme", "ann", execution.SubmitRole)
	one := creating + "/" + string(g.submitAs(key).ID)
	login := func() (header string) {
		cookie, _, err := g.gate.Login(httptest.NewRequest(post, "http://pawl.example/login", nil), strings.TrimPrefix(key, "Authorization: Bearer "))
		require.NoError(t, err)
		return "Cookie: " + auth.SessionCookie + "=" + cookie.Value
	}
	ann, other := login(), login()
	visitor := httptest.NewRequest(get, "http://pawl.example/", nil)
	visitor.Header.Set("Cookie", strings.TrimPrefix(ann, "Cookie: "))
	visit, err := g.gate.Enter(visitor)
	require.NoError(t, err)
	token, err := g.gate.StreamToken(t.Context(), visit, execution.ID(strings.TrimPrefix(one, creating+"/")))
	require.NoError(t, err)
	bySession, byToken, stays := g.opened(one+"/events", ann), g.opened(one+"/events?token="+token.Token, ""), g.opened(one+"/events", other)
	for _, s := range []*sse{bySession, byToken, stays} {
		require.Equal(t, 200, s.response.StatusCode)
		require.Equal(t, "execution_queued", s.event(t).kind)
	}
	_, err = g.gate.Sessions.End(t.Context(), visitor)
	require.NoError(t, err)
	require.NoError(t, bySession.rest(t))
	require.NoError(t, byToken.rest(t))
	refused(t, g.do(get, one+"/events?token="+token.Token, "", "Accept: text/event-stream"), 401, execution.Unauthenticated, "token")
	for range 3 {
		_, err := stays.next()
		require.NoError(t, err)
	}
}
