package auth

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/pawl-run/pawl/execution"
)

// keyPrefix begins every API key: pawl_<id>_<secret>.
const keyPrefix = "pawl_"

// maxName bounds a tenant and a subject, maxNote a note, in bytes.
const (
	maxName = 256
	maxNote = 256
)

// Errors of keys.
var (
	// ErrNoKey: there is no key of that id.
	ErrNoKey = errors.New("there is no such key")
	// ErrInvalidKey: a key like that cannot be made; the error's text says why.
	ErrInvalidKey = errors.New("no such key can be made")
)

// Key is an API key as everybody may see it: without its secret.
type Key struct {
	ID          string               `json:"id"`
	Tenant      string               `json:"tenant"` // execution.AllTenants: the on-call view
	Subject     string               `json:"subject"`
	Role        execution.CallerRole `json:"role"`
	Note        string               `json:"note,omitempty"`
	CreatedAtMs int64                `json:"createdAtMs"`
	ExpiresAtMs int64                `json:"expiresAtMs,omitempty"` // 0: never
	RevokedAtMs int64                `json:"revokedAtMs,omitempty"` // 0: it was not
}

// Authority is what a caller with the key may do.
func (k Key) Authority() execution.Authority {
	return execution.Authority{Caller: execution.CallerScope{Tenant: k.Tenant, Subject: k.Subject}, Role: k.Role}
}

// NewKey says which key to make.
type NewKey struct {
	Tenant  string               // execution.AllTenants: of no tenant, and sees all; not with role submit
	Subject string               // who the key is given to
	Role    execution.CallerRole // submit, read or operate
	Note    string               // for people; may be empty
	Expires time.Duration        // how long it is good; 0: until it is revoked
}

func (n NewKey) check() error {
	if err := checkAuthority(n.Tenant, n.Subject, n.Role); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalidKey, err)
	}
	switch {
	case len(n.Note) > maxNote || !printable(n.Note):
		return fmt.Errorf("%w: the note: want at most %d printable bytes", ErrInvalidKey, maxNote)
	case n.Expires < 0:
		return fmt.Errorf("%w: it would have expired already", ErrInvalidKey)
	}
	return nil
}

// checkAuthority refuses what no caller can be.
func checkAuthority(tenant, subject string, role execution.CallerRole) error {
	switch {
	case !named(tenant):
		return fmt.Errorf("the tenant: want 1 to %d printable bytes without spaces", maxName)
	case !named(subject):
		return fmt.Errorf("the subject: want 1 to %d printable bytes without spaces", maxName)
	}
	switch role {
	case execution.ReadRole, execution.OperateRole:
		return nil
	case execution.SubmitRole:
		if tenant == execution.AllTenants {
			return errors.New("the role: a caller of all tenants submits nothing; want read or operate")
		}
		return nil
	default:
		return fmt.Errorf("the role: want submit, read or operate, have %q", role)
	}
}

func named(text string) bool {
	return text != "" && len(text) <= maxName && printable(text) && !strings.ContainsFunc(text, unicode.IsSpace)
}

func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// newKeyID names a key; it is no secret.
func newKeyID() string { return strings.ToLower(rand.Text()[:12]) }

// keyText is a key as its owner sends it.
func keyText(id, secret string) string { return keyPrefix + id + "_" + secret }

// parseKey takes a key apart.
func parseKey(text string) (id, secret string, ok bool) {
	rest, is := strings.CutPrefix(text, keyPrefix)
	id, secret, parts := strings.Cut(rest, "_")
	return id, secret, is && parts && len(id) == 12 && secret != ""
}
