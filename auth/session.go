package auth

import (
	"context"
	"net/http"
	"time"
)

// SessionTTL is how long a browser stays logged in.
const SessionTTL = 12 * time.Hour

// SessionCookie is the name of the cookie of a session.
const SessionCookie = "pawl_session"

// MaxSessions is how many sessions of one key last at once, or of one caller who shows no key: a further one ends the oldest.
const MaxSessions = 100

func sessionKind() kind { return kind{name: "session", longest: SessionTTL, most: MaxSessions} }

// Sessions keeps the sessions of browsers, which cannot send a key with every request. A session has the authority of the
// credential that it was created with and dies with that one's key. It is safe for concurrent use.
type Sessions struct {
	vault vault
	keys  *Keys
}

// Create makes a session for the visit, and the cookie that stands for it in the browser that sent r.
func (s *Sessions) Create(ctx context.Context, r *http.Request, visit *Visit) (*http.Cookie, error) {
	ttl := lasts(visit, SessionTTL)
	if ttl <= 0 {
		return nil, problem(ctx, errExpired)
	}
	secret := newSecret()
	if _, err := s.vault.put(ctx, sessionKind(), hashOf(secret), grantOf(visit), ttl); err != nil {
		return nil, problem(ctx, err)
	}
	return cookie(r, secret, int(ttl.Seconds())), nil
}

// Find is the visit of whoever shows the cookie's value. ErrUnauthenticated.
func (s *Sessions) Find(ctx context.Context, value string) (*Visit, error) {
	if value == "" || len(value) > maxCredential {
		return nil, problem(ctx, errUnknown)
	}
	hash := hashOf(value)
	granted, err := s.vault.get(ctx, sessionKind(), hash)
	if err != nil {
		return nil, problem(ctx, err)
	}
	visit, err := granted.visit(ctx, s.keys)
	if err != nil {
		return nil, problem(ctx, err)
	}
	visit.session = &openSession{vault: s.vault, hash: hash}
	return visit, nil
}

// openSession asks whether a session has not ended.
type openSession struct {
	vault vault
	hash  string
}

func (o *openSession) check(ctx context.Context) error {
	_, err := o.vault.get(ctx, sessionKind(), o.hash)
	return err
}

// End ends the session of the request, if it has one, and gives the cookie that takes the browser's away.
func (s *Sessions) End(ctx context.Context, r *http.Request) (*http.Cookie, error) {
	if shown, err := r.Cookie(SessionCookie); err == nil && shown.Value != "" {
		if err := s.vault.end(ctx, sessionKind(), hashOf(shown.Value)); err != nil {
			return nil, problem(ctx, err)
		}
	}
	return cookie(r, "", -1), nil
}

// cookie is out of reach of scripts and of other sites.
func cookie(r *http.Request, value string, seconds int) *http.Cookie {
	return &http.Cookie{
		Name: SessionCookie, Value: value, Path: "/", MaxAge: seconds, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: OverTLS(r),
	}
}
