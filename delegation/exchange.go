package delegation

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/faultpoint"
)

// The kinds of token, as RFC 8693 names them.
const (
	AccessTokenType  = "urn:ietf:params:oauth:token-type:access_token"
	RefreshTokenType = "urn:ietf:params:oauth:token-type:refresh_token"
	IDTokenType      = "urn:ietf:params:oauth:token-type:id_token"
	JWTType          = "urn:ietf:params:oauth:token-type:jwt"
)

// ExchangeConfig says how leases are made at an authorization server. TokenURL, ClientID, Vault and Keyring are required.
type ExchangeConfig struct {
	// TokenURL is the server's token endpoint; https, or http to this machine.
	TokenURL string
	// RevokeURL is where tokens are revoked (RFC 7009); empty: they are forgotten and run out by themselves.
	RevokeURL string
	// ClientID and ClientSecret are how the server knows Pawl, by HTTP basic authentication.
	ClientID     string
	ClientSecret execution.Credential
	// SubjectTokenType is the kind of credential that callers bring. AccessTokenType when empty.
	SubjectTokenType string
	// RequestedTokenType is the kind of token that is asked for. AccessTokenType when empty; some servers give a refresh token,
	// without which a lease lasts as long as its first token, only to those who ask for RefreshTokenType.
	RequestedTokenType string
	Allowed            Allowed
	Vault              Vault
	Keyring            *Keyring
	// HTTP sends the requests; nil: a client of its own. Redirects are never followed.
	HTTP *http.Client
	// Timeout bounds a request to the server. 10 s when 0.
	Timeout time.Duration
	// Ahead is how long before its end a token is replaced: at most half of what it lasts. 60 s when 0.
	Ahead  time.Duration
	Logger *slog.Logger     // slog.Default when nil
	Now    func() time.Time // time.Now when nil
}

const (
	defaultTimeout = 10 * time.Second
	defaultAhead   = time.Minute
	lockPoll       = 50 * time.Millisecond
	// refusedPause is how long after a renewal because a service took no token there is no other one for that reason.
	refusedPause = time.Minute
	// refuseSlack is how much longer than an exchange may take no lease is stored for an execution whose lease was revoked: an
	// exchange that began before must find the refusal, also in a process that was stopped for some minutes.
	refuseSlack = 10 * time.Minute
	// maxRevokes bounds how often a revocation meets a lease that was renewed meanwhile.
	maxRevokes = 3
)

// Exchange is a broker on OAuth 2.0 token exchange (RFC 8693): the caller's credential is exchanged for tokens that are made
// for the execution, and these are renewed with the refresh token that came with them or, where there is none, by exchanging
// them in turn while they are good.
type Exchange struct{ cfg ExchangeConfig }

var _ Broker = (*Exchange)(nil)

// NewExchange names what is missing or wrong.
func NewExchange(cfg ExchangeConfig) (*Exchange, error) {
	switch {
	case cfg.ClientID == "":
		return nil, errors.New("delegation: ClientID is required")
	case cfg.Vault == nil || cfg.Keyring == nil:
		return nil, errors.New("delegation: Vault and Keyring are required")
	}
	if err := checkURL("TokenURL", cfg.TokenURL); err != nil {
		return nil, err
	}
	if cfg.RevokeURL != "" {
		if err := checkURL("RevokeURL", cfg.RevokeURL); err != nil {
			return nil, err
		}
	}
	if cfg.SubjectTokenType == "" {
		cfg.SubjectTokenType = AccessTokenType
	}
	if cfg.RequestedTokenType == "" {
		cfg.RequestedTokenType = AccessTokenType
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = defaultTimeout
	}
	if cfg.Ahead <= 0 {
		cfg.Ahead = defaultAhead
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	client := http.Client{}
	if cfg.HTTP != nil {
		client = *cfg.HTTP
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	cfg.HTTP = &client
	return &Exchange{cfg: cfg}, nil
}

// checkURL refuses addresses to which a secret would go in the clear over a network.
func checkURL(name, text string) error {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Host == "" || parsed.User != nil {
		return fmt.Errorf("delegation: %s is not an address such as https://login.example.com/token", name)
	}
	local := parsed.Hostname() == "localhost" || parsed.Hostname() == "127.0.0.1" || parsed.Hostname() == "::1"
	if parsed.Scheme != "https" && (parsed.Scheme != "http" || !local) {
		return fmt.Errorf("delegation: %s must be https, or http to this machine", name)
	}
	return nil
}

func newName() string { return rand.Text() }

// recordVersion is the v of the records that this release writes.
const recordVersion = 1

// record is what a lease stands for. It is stored sealed.
type record struct {
	Version      int                         `json:"v"`
	Ref          Ref                         `json:"ref"`
	BornMs       int64                       `json:"bornMs,omitempty"` // of the execution; 0: an earlier release wrote it
	Revision     uint64                      `json:"revision"`
	AccessToken  string                      `json:"accessToken"`
	RefreshToken string                      `json:"refreshToken,omitempty"`
	ExpiresAtMs  int64                       `json:"expiresAtMs,omitempty"` // of the access token; 0: nobody has said
	LastsMs      int64                       `json:"lastsMs,omitempty"`     // how long the access token was good when it came
	RefusedAtMs  int64                       `json:"refusedAtMs,omitempty"` // when one before it was refused by a service and renewed; 0: never
	Request      execution.DelegationRequest `json:"request"`
}

func (r record) lease() Lease {
	lease := Lease{Ref: r.Ref, Revision: r.Revision}
	if r.ExpiresAtMs > 0 {
		lease.ExpiresAt = time.UnixMilli(r.ExpiresAtMs)
	}
	return lease
}

// fresh reports whether the access token is good for a while.
func (r record) fresh(now time.Time, ahead time.Duration) bool {
	return r.ExpiresAtMs == 0 || now.UnixMilli()+min(ahead.Milliseconds(), r.LastsMs/2) < r.ExpiresAtMs
}

// good reports whether the record is as good as a renewal would make it: its token lasts for a while, and is not the one that
// was refused, or that would not help.
func (r record) good(now time.Time, ahead time.Duration, refused execution.Credential) bool {
	if !r.fresh(now, ahead) {
		return false
	}
	since := now.UnixMilli() - r.RefusedAtMs
	return refused.Reveal() != r.AccessToken || since >= 0 && since < refusedPause.Milliseconds()
}

// take puts the server's answer into the record, as its next revision.
func (r record) take(now time.Time, granted tokens) record {
	r.Version, r.AccessToken, r.Revision = recordVersion, granted.AccessToken, r.Revision+1
	if granted.RefreshToken != "" { // else the old one stays good
		r.RefreshToken = granted.RefreshToken
	}
	r.ExpiresAtMs, r.LastsMs = 0, 0
	if granted.ExpiresIn > 0 {
		r.LastsMs = int64(granted.ExpiresIn) * 1000
		r.ExpiresAtMs = now.UnixMilli() + r.LastsMs
	}
	return r
}

// load reads the record of an execution; nil when there is none. sealed is as it is stored.
func (e *Exchange) load(ctx context.Context, id execution.ID, born int64) (found *record, sealed []byte, err error) {
	sealed, err = e.cfg.Vault.Load(ctx, id, born)
	if err != nil {
		return nil, nil, unlessLost(err)
	}
	if sealed == nil {
		return nil, nil, nil
	}
	found, err = e.unseal(id, sealed)
	return found, sealed, err
}

// unlessLost is the error of a vault: it did not answer, unless it says that the lease was revoked.
func unlessLost(err error) error {
	if errors.Is(err, ErrLost) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

func (e *Exchange) unseal(id execution.ID, sealed []byte) (*record, error) {
	text, err := e.cfg.Keyring.open(sealed, string(id))
	if err != nil {
		return nil, fmt.Errorf("%w: the record of %s was sealed with a key that is not among ours", ErrLost, id)
	}
	var found record
	if err := json.Unmarshal(text, &found); err != nil {
		return nil, fmt.Errorf("%w: the record of %s cannot be read", ErrLost, id)
	}
	if found.Version > recordVersion { // it is whole, and nothing is lost
		return nil, fmt.Errorf("%w: the record of %s: %w", ErrUnavailable, id, execution.ErrNewer)
	}
	return &found, nil
}

func (e *Exchange) sealed(id execution.ID, r record) ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode the lease of %s: %w", id, err)
	}
	return e.cfg.Keyring.seal(text, string(id)), nil
}

// Check implements Broker.
func (e *Exchange) Check(grant Grant) error {
	if _, err := e.cfg.Allowed.Narrow(grant.Request); err != nil {
		return err
	}
	if grant.Caller.IsZero() {
		return &Refusal{Field: "delegation", Reason: "the caller brought no token that can be exchanged: an API key cannot be, a bearer " +
			"token of the identity provider can"}
	}
	return nil
}

// Establish implements Broker. When two establish the lease of one execution at once, the tokens of the second are revoked;
// so are those that come after Revoke.
func (e *Exchange) Establish(ctx context.Context, grant Grant) (Lease, error) {
	request, err := e.cfg.Allowed.Narrow(grant.Request)
	if err != nil {
		return Lease{}, err
	}
	began := time.Now()
	found, err := e.earlier(ctx, grant)
	if err != nil {
		return Lease{}, err
	}
	if found != nil {
		return found.lease(), nil
	}
	if err := e.Check(grant); err != nil {
		return Lease{}, err
	}
	granted, err := e.exchange(ctx, grant.Caller, e.cfg.SubjectTokenType, request)
	if err != nil {
		return Lease{}, err
	}
	faultpoint.Hit("delegation_granted")
	made := record{Ref: Ref("lease_" + newName()), BornMs: grant.BornMs, Request: request}.take(e.cfg.Now(), granted)
	// What the server granted is kept whatever becomes of the request: else nobody could revoke it.
	ctx = context.WithoutCancel(ctx)
	stored, err := e.keep(ctx, grant.Execution, made, began.Add(2*e.cfg.Timeout))
	if err != nil || stored.Ref != made.Ref {
		e.giveBack(ctx, grant.Execution, made)
	}
	if err != nil {
		return Lease{}, err
	}
	return stored.lease(), nil
}

// keep stores the record of a new lease, and returns the one that another call stored before. After the instant nothing is
// stored: by then nobody may know any more that the lease was revoked.
func (e *Exchange) keep(ctx context.Context, id execution.ID, made record, until time.Time) (record, error) {
	sealed, err := e.sealed(id, made)
	if err != nil {
		return record{}, err
	}
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	stored, err := e.cfg.Vault.Create(ctx, id, made.BornMs, sealed)
	if err != nil {
		return record{}, unlessLost(err)
	}
	if bytes.Equal(stored, sealed) {
		return made, nil
	}
	found, err := e.unseal(id, stored)
	if err != nil {
		return record{}, err
	}
	if found.BornMs > made.BornMs {
		return record{}, fmt.Errorf("%w: %s is a later execution's by now", ErrLost, id)
	}
	return *found, nil
}

// earlier is the lease that the execution has already; nil: none. One of an execution that had its id before, and whose clean-up
// has not succeeded in all its retention, is revoked: it was made for another request.
func (e *Exchange) earlier(ctx context.Context, grant Grant) (*record, error) {
	found, _, err := e.load(ctx, grant.Execution, grant.BornMs)
	if err != nil || found == nil {
		return nil, err
	}
	switch {
	case found.BornMs == 0 || found.BornMs == grant.BornMs:
		return found, nil
	case found.BornMs > grant.BornMs:
		return nil, fmt.Errorf("%w: %s is a later execution's by now", ErrLost, grant.Execution)
	default:
		return nil, e.Revoke(ctx, grant.Execution, found.BornMs)
	}
}

// giveBack revokes tokens that no record holds, whatever becomes of the request.
func (e *Exchange) giveBack(ctx context.Context, id execution.ID, r record) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*e.cfg.Timeout) // two tokens
	defer cancel()
	if err := e.revoke(ctx, r); err != nil {
		e.cfg.Logger.WarnContext(ctx, "tokens were not revoked and run out by themselves", "execution", id, "error", err)
	}
}

// Token implements Broker.
func (e *Exchange) Token(ctx context.Context, id execution.ID, ref Ref) (Token, error) {
	found, _, err := e.of(ctx, id, ref)
	if err != nil {
		return Token{}, err
	}
	if !found.fresh(e.cfg.Now(), e.cfg.Ahead) {
		return Token{}, fmt.Errorf("%w: of %s", ErrExpired, id)
	}
	token := Token{Value: execution.NewCredential(found.AccessToken), ExpiresAt: found.lease().ExpiresAt}
	return token, nil
}

// of is the record of a lease.
func (e *Exchange) of(ctx context.Context, id execution.ID, ref Ref) (*record, []byte, error) {
	found, sealed, err := e.load(ctx, id, 0)
	switch {
	case err != nil:
		return nil, nil, err
	case found == nil:
		return nil, nil, fmt.Errorf("%w: %s has none", ErrLost, id)
	case found.Ref != ref:
		return nil, nil, fmt.Errorf("%w: %s has another one", ErrLost, id)
	}
	return found, sealed, nil
}

// Revoke implements Broker. Whatever it finds, for as long as an exchange may be under way no lease is stored any more.
func (e *Exchange) Revoke(ctx context.Context, id execution.ID, bornMs int64) error {
	var over []byte // the record whose tokens are revoked
	for range maxRevokes {
		left, err := e.cfg.Vault.Forget(ctx, id, bornMs, over, 2*e.cfg.Timeout+refuseSlack)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		if left == nil {
			return nil
		}
		later, err := e.end(ctx, id, bornMs, left)
		if err != nil || later {
			return err
		}
		over = left
	}
	return fmt.Errorf("%w: the lease of %s is renewed again and again", ErrUnavailable, id)
}

// end revokes the tokens of a record that is stored, unless it is a later execution's.
func (e *Exchange) end(ctx context.Context, id execution.ID, bornMs int64, sealed []byte) (later bool, err error) {
	found, err := e.unseal(id, sealed)
	if err != nil { // nobody can read what to revoke
		e.cfg.Logger.WarnContext(ctx, "a lease cannot be opened and is forgotten; its tokens run out by themselves", "execution", id)
		return false, nil
	}
	if found.BornMs > bornMs {
		return true, nil
	}
	return false, e.revoke(ctx, *found)
}
