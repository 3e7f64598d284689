package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/pawl-run/pawl/execution"
)

// IssuerConfig configures an Issuer.
type IssuerConfig struct {
	URL      string // required: the issuer, exactly as its tokens name it
	Audience string // required: what its tokens for Pawl are made for
	// The claims that name the caller. A name is looked up as it is, and then as a path whose parts a dot divides. Defaults:
	// tenant, sub, role.
	TenantClaim, SubjectClaim, RoleClaim string
	// Login lets browsers log in on the issuer's own page. nil: there is no such login.
	Login *LoginConfig
	// Retry is how long an issuer that does not answer is left alone at first. Default 1s; the longest wait is 30s.
	Retry time.Duration
	// Refetch is the shortest time between two looks at the issuer's keys. Default 5s.
	Refetch time.Duration
	Client  *http.Client // nil: one with a timeout of 10s
	Logger  *slog.Logger // nil: slog.Default()
}

func (c IssuerConfig) withDefaults() (IssuerConfig, error) {
	for name, value := range map[string]string{"URL": c.URL, "Audience": c.Audience} {
		if value == "" {
			return c, fmt.Errorf("auth: an issuer needs %s", name)
		}
	}
	for claim, def := range map[*string]string{&c.TenantClaim: "tenant", &c.SubjectClaim: "sub", &c.RoleClaim: "role"} {
		if *claim == "" {
			*claim = def
		}
	}
	if c.Login != nil {
		login, err := c.Login.withDefaults(c.URL)
		if err != nil {
			return c, err
		}
		c.Login = &login
	}
	if c.Retry <= 0 {
		c.Retry = time.Second
	}
	if c.Refetch <= 0 {
		c.Refetch = 5 * time.Second
	}
	if c.Client == nil {
		c.Client = &http.Client{Timeout: 10 * time.Second}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c, nil
}

// longestRetry bounds the wait between two tries to reach the issuer.
const longestRetry = 30 * time.Second

// Issuer knows callers by the tokens of an OpenID Connect issuer: JWTs that it signed with an asymmetric key, for the
// audience. Its keys are looked up again when a token names one that is not known, so that a rotation is followed. It is
// safe for concurrent use; Run it.
type Issuer struct {
	cfg   IssuerConfig
	known atomic.Pointer[knownIssuer] // nil until the issuer has answered
}

// knownIssuer is what the issuer has said of itself.
type knownIssuer struct {
	bearer *oidc.IDTokenVerifier // of tokens for the audience
	login  *loginClient          // nil: browsers cannot log in there
}

// NewIssuer makes an Issuer. The error names the field that is wrong.
func NewIssuer(cfg IssuerConfig) (*Issuer, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Issuer{cfg: cfg}, nil
}

// Run asks the issuer what it says of itself until it answers; its tokens are ErrUnavailable so long. It ends with ctx.
func (i *Issuer) Run(ctx context.Context) error {
	for wait := i.cfg.Retry; ; wait = min(2*wait, longestRetry) {
		err := i.discover(ctx)
		if err == nil {
			i.cfg.Logger.InfoContext(ctx, "tokens of the issuer are taken", "issuer", i.cfg.URL, "audience", i.cfg.Audience)
			<-ctx.Done()
			return nil
		}
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it was told to end
		}
		i.cfg.Logger.WarnContext(ctx, "THE ISSUER OF TOKENS DOES NOT ANSWER: its tokens are refused with 503 until it does",
			"issuer", i.cfg.URL, "again", wait.String(), "error", err)
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// algorithms are the asymmetric ones: no secret that both sides share, and never none.
func algorithms() []string {
	return []string{
		oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
	}
}

func (i *Issuer) discover(ctx context.Context) error {
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, i.cfg.Client), i.cfg.URL)
	if err != nil {
		return fmt.Errorf("issuer %s: %w", i.cfg.URL, err)
	}
	var document discovered
	if err := provider.Claims(&document); err != nil || document.KeysURL == "" {
		return fmt.Errorf("issuer %s: it names no jwks_uri: %w", i.cfg.URL, errors.Join(err))
	}
	keys := newKeySet(ctx, document.KeysURL, i.cfg.Client, i.cfg.Refetch)
	known := &knownIssuer{bearer: i.verifierFor(i.cfg.Audience, keys)}
	if i.cfg.Login != nil {
		known.login, err = newLoginClient(provider, document, i.cfg, i.verifierFor(i.cfg.Login.ClientID, keys))
		if err != nil {
			i.cfg.Logger.ErrorContext(ctx, "NOBODY CAN LOG IN ON THE ISSUER'S PAGE", "issuer", i.cfg.URL, "error", err)
		}
	}
	i.known.Store(known)
	return nil
}

// discovered is what is read of the issuer's document beside what the library reads.
type discovered struct {
	KeysURL     string   `json:"jwks_uri"`
	LogoutURL   string   `json:"end_session_endpoint"`
	Methods     []string `json:"token_endpoint_auth_methods_supported"`
	NamesIssuer bool     `json:"authorization_response_iss_parameter_supported"`
}

func (i *Issuer) verifierFor(audience string, keys oidc.KeySet) *oidc.IDTokenVerifier {
	return oidc.NewVerifier(i.cfg.URL, keys, &oidc.Config{ClientID: audience, SupportedSigningAlgs: algorithms()})
}

// ask is what the issuer has said of itself. An issuer that has not answered yet is an error.
func (i *Issuer) ask() (*knownIssuer, error) {
	if known := i.known.Load(); known != nil {
		return known, nil
	}
	return nil, fmt.Errorf("issuer %s has not answered yet", i.cfg.URL)
}

// visit is the visit of whoever shows a token.
func (i *Issuer) visit(ctx context.Context, token string) (*Visit, error) {
	known, err := i.ask()
	if err != nil {
		return nil, err
	}
	verified, claims, err := i.verify(ctx, known.bearer, token)
	if err != nil {
		return nil, err
	}
	authority, err := i.authority(claims)
	if err != nil {
		return nil, execution.NewAPIError(execution.Forbidden, "the token names no caller: %v", err).In(header)
	}
	authority.Credential = execution.NewCredential(token)
	return &Visit{Authority: authority, Until: verified.Expiry}, nil
}

// verify reads a token of the issuer. errRefused: it is none that is good.
func (i *Issuer) verify(
	ctx context.Context, verifier *oidc.IDTokenVerifier, token string,
) (verified *oidc.IDToken, claims map[string]any, err error) {
	ctx, failed := withFetchFailure(ctx)
	verified, err = verifier.Verify(ctx, token)
	switch {
	case err != nil && *failed != nil:
		return nil, nil, fmt.Errorf("issuer %s: %w", i.cfg.URL, *failed)
	case err != nil && ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case err != nil:
		return nil, nil, fmt.Errorf("%w: %w", errRefused, err)
	}
	if err := verified.Claims(&claims); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errRefused, err)
	}
	return verified, claims, nil
}

// authority reads who the token is of.
func (i *Issuer) authority(claims map[string]any) (execution.Authority, error) {
	var authority execution.Authority
	for name, value := range map[string]*string{
		i.cfg.TenantClaim: &authority.Caller.Tenant, i.cfg.SubjectClaim: &authority.Caller.Subject,
	} {
		text, is := claim(claims, name).(string)
		if !is {
			return authority, fmt.Errorf("the claim %s is no text", name)
		}
		*value = text
	}
	role, err := roleOf(claim(claims, i.cfg.RoleClaim))
	if err != nil {
		return authority, fmt.Errorf("the claim %s: %w", i.cfg.RoleClaim, err)
	}
	authority.Role = role
	return authority, checkAuthority(authority.Caller.Tenant, authority.Caller.Subject, role)
}

// claim is the value of a claim, by its name or by its path.
func claim(claims map[string]any, name string) any {
	if value, is := claims[name]; is {
		return value
	}
	var at any = claims
	for part := range strings.SplitSeq(name, ".") {
		inner, is := at.(map[string]any)
		if !is {
			return nil
		}
		at = inner[part]
	}
	return at
}

// roleOf is the role that a claim names: a text, or a list of which other texts are somebody else's. Operate is more than the
// other two; between submit and read nobody can choose.
func roleOf(value any) (execution.CallerRole, error) {
	var found []execution.CallerRole
	known := []execution.CallerRole{execution.SubmitRole, execution.ReadRole, execution.OperateRole}
	take := func(value any) {
		text, _ := value.(string)
		if role := execution.CallerRole(text); slices.Contains(known, role) && !slices.Contains(found, role) {
			found = append(found, role)
		}
	}
	take(value)
	if list, is := value.([]any); is {
		for _, entry := range list {
			take(entry)
		}
	}
	switch {
	case slices.Contains(found, execution.OperateRole):
		return execution.OperateRole, nil
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0:
		return "", errors.New("want submit, read or operate")
	default:
		return "", errors.New("submit and read are two roles: want one, or operate")
	}
}
