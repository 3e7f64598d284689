package auth_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/auth"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
)

func TestAKeyNamesItsCallerInEveryProcess(t *testing.T) {
	t.Parallel()
	in := install(t)
	key, text := in.key(t)
	require.Regexp(t, `^pawl_[a-z2-7]{12}_[a-z2-7]{52}$`, text)
	for _, gate := range []*auth.Gate{in.Gate, in.other, in.Gate} {
		visit, err := gate.Enter(request(t, http.MethodPost, text))
		require.NoError(t, err)
		require.Equal(t, ann, visit.Authority)
		require.Equal(t, key.ID, visit.Key)
		require.NoError(t, visit.Check(bounded(t)))
	}
}

func TestWhatIsNoKeyIsRefusedWithoutAWordWhy(t *testing.T) {
	t.Parallel()
	in := install(t)
	_, text := in.key(t)
	revoked, revokedText := in.key(t)
	_, _, err := in.Keys.Revoke(bounded(t), revoked.ID)
	require.NoError(t, err)
	_, expired := in.key(t, func(k *auth.NewKey) { k.Expires = time.Millisecond })
	require.Eventually(t, func() bool {
		_, err := in.other.Enter(request(t, http.MethodGet, expired))
		return err != nil
	}, patience, time.Millisecond)
	id, secret := text[5:17], text[18:]
	details := map[string]bool{}
	for name, credential := range map[string]string{
		"another secret": "pawl_" + id + "_" + strings.Repeat("a", 52), "a part of the secret": text[:len(text)-1],
		"more than the secret": text + "a", "another id": "pawl_aaaaaaaaaaaa_" + secret, "no secret": "pawl_" + id + "_",
		"no id": "pawl__" + secret, "a revoked key": revokedText, "an expired key": expired,
		"the field of a revocation": "pawl_" + revoked.ID + ":revoked_" + secret, "a word": "sesame", "three parts": "a.b.c",
		"something endless": "pawl_" + strings.Repeat("a", 1<<20),
	} {
		// Each from an address of its own: nobody is told to wait.
		r := request(t, http.MethodGet, credential)
		r.RemoteAddr = fmt.Sprintf("10.0.0.%d:1", len(details)+len(name))
		_, err := in.Enter(r)
		api := refused(t, err, execution.Unauthenticated)
		require.Equal(t, "Authorization", api.field, name)
		require.NotContains(t, fmt.Sprint(err, api.cause), credential, name)
		details[api.detail] = true
	}
	require.Len(t, details, 1)
	for name, headers := range map[string][]string{
		"nothing": nil, "another scheme": {"Authorization", "Basic " + text}, "no scheme": {"Authorization", text},
		"two": {"Authorization", "Bearer " + text, "Authorization", "Bearer " + text}, "an empty one": {"Authorization", "Bearer "},
	} {
		_, err := in.Enter(request(t, http.MethodGet, "", headers...))
		require.Equal(t, "Authorization", refused(t, err, execution.Unauthenticated).field, name)
	}
	_, err = in.Enter(request(t, http.MethodGet, "", "Authorization", "bearer "+text))
	require.NoError(t, err, "a scheme has no case")
}

func TestARevokedKeyEndsEverywhereWithinTheTrust(t *testing.T) {
	t.Parallel()
	in := install(t)
	key, text := in.key(t)
	visit, err := in.other.Enter(request(t, http.MethodGet, text))
	require.NoError(t, err)
	revoked, changed, err := in.Keys.Revoke(bounded(t), key.ID)
	since := time.Now()
	require.NoError(t, err)
	require.True(t, changed)
	require.NotZero(t, revoked.RevokedAtMs)
	_, err = in.Enter(request(t, http.MethodGet, text))
	refused(t, err, execution.Unauthenticated)
	require.Eventually(t, func() bool {
		begun := time.Now()
		if visit.Check(bounded(t)) != nil {
			return true
		}
		require.Less(t, begun.Sub(since), trust, "what was read before is trusted for so long and no longer")
		return false
	}, patience, time.Millisecond)
	refused(t, visit.Check(bounded(t)), execution.Unauthenticated)
	again, changed, err := in.Keys.Revoke(bounded(t), key.ID)
	require.NoError(t, err)
	require.False(t, changed)
	require.Equal(t, revoked, again)
	_, _, err = in.Keys.Revoke(bounded(t), "nobodys-key")
	require.ErrorIs(t, err, auth.ErrNoKey)
	_, _, err = in.Keys.Revoke(bounded(t), key.ID+":revoked")
	require.ErrorIs(t, err, auth.ErrNoKey)
}

func TestKeysAreListedWithoutTheirSecrets(t *testing.T) {
	t.Parallel()
	in := install(t)
	some, err := in.Keys.Any(bounded(t))
	require.NoError(t, err)
	require.False(t, some)
	all, err := in.Keys.List(bounded(t))
	require.NoError(t, err)
	require.Empty(t, all)
	var want []auth.Key
	for i := range 600 { // more than one look brings
		key, _ := in.key(t, func(k *auth.NewKey) { k.Note = fmt.Sprintf("number %d", i) })
		want = append(want, key)
	}
	want[7], _, err = in.Keys.Revoke(bounded(t), want[7].ID)
	require.NoError(t, err)
	all, err = in.Keys.List(bounded(t))
	require.NoError(t, err)
	require.ElementsMatch(t, want, all)
	require.LessOrEqual(t, all[0].CreatedAtMs, all[599].CreatedAtMs)
	some, err = in.Keys.Any(bounded(t))
	require.NoError(t, err)
	require.True(t, some)
}

func TestWhatNoKeyCanBeIsRefusedAndWritesNothing(t *testing.T) {
	t.Parallel()
	in := install(t)
	before := redistest.Dump(t, in.rdb, in.prefix)
	for name, change := range map[string]func(*auth.NewKey){
		"no tenant":                    func(k *auth.NewKey) { k.Tenant = "" },
		"a tenant with a space":        func(k *auth.NewKey) { k.Tenant = "a b" },
		"a tenant that does not print": func(k *auth.NewKey) { k.Tenant = "a\x1fb" },
		"no subject":                   func(k *auth.NewKey) { k.Subject = "" },
		"a long subject":               func(k *auth.NewKey) { k.Subject = strings.Repeat("s", 257) },
		"no role":                      func(k *auth.NewKey) { k.Role = "" },
		"another role":                 func(k *auth.NewKey) { k.Role = "admin" },
		"all tenants, and submit":      func(k *auth.NewKey) { k.Tenant = execution.AllTenants },
		"a note of two lines":          func(k *auth.NewKey) { k.Note = "a\nb" },
		"a time that has passed":       func(k *auth.NewKey) { k.Expires = -1 },
	} {
		asked := auth.NewKey{Tenant: "acme", Subject: "ann", Role: execution.SubmitRole}
		change(&asked)
		_, _, err := in.Keys.Create(bounded(t), asked)
		require.ErrorIs(t, err, auth.ErrInvalidKey, name)
	}
	require.Equal(t, before, redistest.Dump(t, in.rdb, in.prefix))
}

func TestWhatRedisHoldsOpensNothing(t *testing.T) {
	t.Parallel()
	in := install(t)
	_, text := in.key(t)
	visit, err := in.Enter(request(t, http.MethodGet, text))
	require.NoError(t, err)
	token, err := in.StreamToken(bounded(t), visit, execution.NewID(1))
	require.NoError(t, err)
	cookie, _, err := in.Login(request(t, http.MethodPost, ""), text)
	require.NoError(t, err)
	dump := fmt.Sprint(redistest.Dump(t, in.rdb, in.prefix))
	require.Contains(t, dump, "acme")
	for name, secret := range map[string]string{
		"key": text, "secret": text[18:], "stream token": token.Token, "secret of the stream token": token.Token[11:], "session": cookie.Value,
	} {
		require.NotContains(t, dump, secret, name)
	}
	for key := range redistest.Dump(t, in.rdb, in.prefix) { // and nothing of it stays but the key
		if key != in.prefix+":keys" {
			ttl := in.rdb.TTL(bounded(t), key).Val()
			require.Positive(t, ttl, key)
			require.LessOrEqual(t, ttl, auth.SessionTTL, key)
		}
	}
}

func TestARedisThatDoesNotAnswerIsNoVerdict(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1, DialerRetries: 1})
	t.Cleanup(func() { _ = rdb.Close() })
	gate, err := auth.New(rdb, auth.Config{KeysConfig: auth.KeysConfig{CacheTTL: time.Millisecond}})
	require.NoError(t, err)
	_, text, err := gate.Keys.Create(bounded(t), auth.NewKey{Tenant: "a", Subject: "b", Role: execution.ReadRole})
	require.NoError(t, err)
	visit, err := gate.Enter(request(t, http.MethodGet, text))
	require.NoError(t, err)
	server.Kill()
	for range 30 {
		_, err = gate.Enter(request(t, http.MethodGet, text))
		require.Positive(t, refused(t, err, execution.Unavailable).retryAfter, "it is no failure of the caller's")
	}
	refused(t, visit.Check(bounded(t)), execution.Unavailable)
}

func TestConfigNamesTheFieldThatIsWrong(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{})
	t.Cleanup(func() { _ = rdb.Close() })
	_, err := auth.New(nil, auth.Config{})
	require.ErrorContains(t, err, "Redis")
	_, err = auth.New(rdb, auth.Config{KeysConfig: auth.KeysConfig{Prefix: "a{b}"}})
	require.ErrorContains(t, err, "Prefix")
	_, err = auth.New(rdb, auth.Config{KeysConfig: auth.KeysConfig{CacheTTL: -1}})
	require.ErrorContains(t, err, "CacheTTL")
	for field, cfg := range map[string]auth.IssuerConfig{"URL": {Audience: "a"}, "Audience": {URL: "u"}} {
		_, err = auth.NewIssuer(cfg)
		require.ErrorContains(t, err, field)
	}
}
