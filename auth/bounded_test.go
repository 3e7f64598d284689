package auth_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/auth"
	"github.com/pawl-run/pawl/execution"
)

// Of one key's sessions the latest are good, however many were made; the ended do not count, nor do another key's.
func TestSessionsOfAKeyAreBounded(t *testing.T) {
	t.Parallel()
	in := install(t)
	_, text := in.key(t)
	_, other := in.key(t)
	login := func(text string) *http.Cookie {
		cookie, _, err := in.Login(request(t, http.MethodPost, ""), text)
		require.NoError(t, err)
		return cookie
	}
	good := func(cookie *http.Cookie) bool {
		r := request(t, http.MethodGet, "")
		r.AddCookie(cookie)
		_, err := in.Enter(r)
		return err == nil
	}
	neighbor, first, second := login(other), login(text), login(text)
	for range 5 { // they end at once
		r := request(t, http.MethodPost, "")
		r.AddCookie(login(text))
		_, err := in.Sessions.End(bounded(t), r)
		require.NoError(t, err)
	}
	for range auth.MaxSessions - 2 {
		require.True(t, good(login(text)))
	}
	require.True(t, good(first))
	last := login(text)
	require.False(t, good(first), "the oldest goes")
	require.True(t, good(second))
	require.True(t, good(last))
	require.True(t, good(neighbor))
	keys, err := in.rdb.Keys(bounded(t), in.prefix+":session:*").Result()
	require.NoError(t, err)
	require.Len(t, keys, auth.MaxSessions+1, "nothing stays of it")
	ttl, err := in.rdb.Keys(bounded(t), in.prefix+":sessions:*").Result()
	require.NoError(t, err)
	for _, list := range ttl {
		require.Positive(t, in.rdb.TTL(bounded(t), list).Val())
	}
}

func TestStreamTokensOfAKeyAreBounded(t *testing.T) {
	t.Parallel()
	in := install(t)
	_, text := in.key(t)
	visit, err := in.Enter(request(t, http.MethodGet, "", "Authorization", "Bearer "+text))
	require.NoError(t, err)
	for name, tokens := range map[string]*auth.StreamTokens{"in Redis": in.Streams, "in memory": auth.InMemory()} {
		if name == "in memory" {
			visit = &auth.Visit{Authority: visit.Authority} // it knows no keys
		}
		id := execution.NewID(7)
		mint := func(visit *auth.Visit) string {
			token, err := tokens.Mint(bounded(t), visit, id)
			require.NoError(t, err)
			return token.Token
		}
		good := func(token string) bool {
			_, err := tokens.Find(bounded(t), token, id)
			return err == nil
		}
		neighbor := mint(&auth.Visit{Authority: execution.LocalAuthority()})
		first, second := mint(visit), mint(visit)
		for range auth.MaxStreamTokens - 2 {
			mint(visit)
		}
		require.True(t, good(first), name)
		last := mint(visit)
		require.False(t, good(first), name)
		for _, token := range []string{second, last, neighbor} {
			require.True(t, good(token), name)
		}
	}
}
