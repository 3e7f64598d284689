package browser

import (
	"context"
	"html/template"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
	"golang.org/x/text/language"
)

const clientID, clientSecret = "pawl-dashboard", "a secret: of +the client%"

// issuer is an OpenID Connect issuer that others have written, with a login page and three people. It is another site than
// Pawl: a browser keeps Pawl's strict cookies back on the way from it.
type issuer struct {
	url string

	mu    sync.Mutex
	codes []string // that it gave; guarded by mu
}

// claimant is what the issuer says of a person, in the ID token and at the userinfo endpoint.
type claimant struct{ idToken, userInfo map[string]string }

func claimants() map[string]claimant {
	return map[string]claimant{
		"ann": {idToken: map[string]string{"tenant": "default", "role": "operate"}},
		"ben": {userInfo: map[string]string{"tenant": "default", "role": "read"}},
		"eve": {idToken: map[string]string{"tenant": "default"}},
	}
}

// people are the issuer's users, by a name that is also their id.
type people struct{}

func (people) GetUserByID(id string) *storage.User {
	if _, known := claimants()[id]; !known {
		return nil
	}
	return &storage.User{ID: id, Username: id, Password: "of " + id, PreferredLanguage: language.English}
}

func (p people) GetUserByUsername(name string) *storage.User { return p.GetUserByID(name) }
func (people) ExampleClientID() string                       { return storage.ServiceUserID }

// registry keeps what the issuer knows. It adds the claims that Pawl reads, and notes the codes.
type registry struct {
	*storage.Storage
	issuer *issuer
}

func (r registry) SetUserinfoFromRequest(ctx context.Context, info *oidc.UserInfo, asked op.IDTokenRequest, scopes []string) error {
	for name, value := range claimants()[asked.GetSubject()].idToken {
		info.AppendClaims(name, value)
	}
	return r.Storage.SetUserinfoFromRequest(ctx, info, asked, scopes)
}

func (r registry) SetUserinfoFromToken(ctx context.Context, info *oidc.UserInfo, token, subject, origin string) error {
	for name, value := range claimants()[subject].userInfo {
		info.AppendClaims(name, value)
	}
	return r.Storage.SetUserinfoFromToken(ctx, info, token, subject, origin)
}

func (r registry) SaveAuthCode(ctx context.Context, id, code string) error {
	r.issuer.mu.Lock()
	r.issuer.codes = append(r.issuer.codes, code)
	r.issuer.mu.Unlock()
	return r.Storage.SaveAuthCode(ctx, id, code)
}

// given are the codes that were given so far.
func (i *issuer) given() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]string(nil), i.codes...)
}

var loginForm = template.Must(template.New("login").Parse(`<!doctype html><html lang="en"><title>The issuer</title><h1>Who are you?</h1>
<form method="post"><input type="hidden" name="id" value="{{.ID}}"><p>{{.Problem}}</p>
<label>Name <input name="name"></label><label>Password <input name="password" type="password"></label><button>Go</button></form></html>`))

// newIssuer serves an issuer to the client that is sent back to the address.
func newIssuer(t *testing.T, redirect string) *issuer {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)
	i := &issuer{url: "http://localhost:" + port}
	kept := registry{Storage: storage.NewStorageWithClients(people{}, map[string]*storage.Client{
		clientID: storage.WebClient(clientID, clientSecret, redirect),
	}), issuer: i}
	provider, err := op.NewProvider(&op.Config{
		CryptoKey: [32]byte{1}, CryptoKeyId: "key1", CodeMethodS256: true, DefaultLogoutRedirectURI: "/left",
		SupportedUILocales: []language.Tag{language.English},
	}, kept, op.StaticIssuer(i.url), op.WithAllowInsecure())
	require.NoError(t, err)
	answered := op.AuthCallbackURL(provider)
	login := func(w http.ResponseWriter, r *http.Request) {
		id, problem := r.FormValue("authRequestID"), ""
		if r.Method == http.MethodPost {
			id = r.PostFormValue("id")
			err := kept.CheckUsernamePassword(r.PostFormValue("name"), r.PostFormValue("password"), id)
			if err == nil {
				http.Redirect(w, r, answered(op.ContextWithIssuer(r.Context(), i.url), id), http.StatusFound)
				return
			}
			problem = err.Error()
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_ = loginForm.Execute(w, map[string]string{"ID": id, "Problem": problem}) // a browser that has gone needs no page
	}
	mux.HandleFunc("/login/username", login)
	mux.HandleFunc("/left", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(`<!doctype html><html lang="en"><title>The issuer</title><h1>You have left</h1></html>`))
	})
	mux.HandleFunc("/favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.Handle("/", provider)
	return i
}
