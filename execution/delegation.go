package execution

import (
	"errors"
	"log/slog"
)

// DelegationRequest asks for a lease with which the execution may act for its caller, within what the installation allows.
// Empty fields ask for what the installation gives by default.
type DelegationRequest struct {
	// Audience is the service that the delegated tokens are made for.
	Audience string `json:"audience,omitempty"`
	// Resource is the address of that service, where its issuer wants one.
	Resource string `json:"resource,omitempty"`
	// Scopes are what may be done there.
	Scopes []string `json:"scopes,omitempty"`
}

// DelegationView is what a client sees of a delegation: never the lease or a token.
type DelegationView struct {
	// ExpiresAtMs is until when the lease holds unless it is renewed; 0 while it is not attached yet, and when it never ends.
	ExpiresAtMs int64 `json:"expiresAtMs,omitempty"`
	// Revoked says that the lease was revoked, which happens when the execution ends.
	Revoked bool `json:"revoked,omitempty"`
}

// redacted is what a secret prints as.
const redacted = "[redacted]"

// Credential is the bearer token of a caller, for as long as the request lasts that brought it. It is stored nowhere, cannot
// be encoded and prints redacted. The zero value is none.
type Credential struct {
	token *string // behind a pointer: what prints a struct that holds a credential does not ask it how
}

// NewCredential keeps a bearer token.
func NewCredential(token string) Credential {
	if token == "" {
		return Credential{}
	}
	return Credential{token: &token}
}

// IsZero reports that there is none.
func (c Credential) IsZero() bool { return c.token == nil }

// Reveal is the token itself, for the one that it is shown to; empty when there is none.
func (c Credential) Reveal() string {
	if c.token == nil {
		return ""
	}
	return *c.token
}

// String hides the token.
func (c Credential) String() string { return redacted }

// GoString hides the token.
func (c Credential) GoString() string { return redacted }

// LogValue hides the token.
func (c Credential) LogValue() slog.Value { return slog.StringValue(redacted) }

var errNotEncoded = errors.New("a credential is not encoded")

// MarshalText refuses: no JSON, text or form holds a credential.
func (c Credential) MarshalText() ([]byte, error) { return nil, errNotEncoded }
