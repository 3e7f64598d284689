package config

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Auth says who may use the API.
type Auth struct {
	Auth         AuthMode `envconfig:"PAWL_AUTH" default:"none" desc:"none: everybody on this machine, and nobody else; keys: whoever shows an API key (pawl keys create)"`
	OIDCIssuer   string   `envconfig:"PAWL_OIDC_ISSUER" desc:"an OpenID Connect issuer whose tokens are taken beside keys, as they name it; none when empty"`
	OIDCAudience string   `envconfig:"PAWL_OIDC_AUDIENCE" desc:"the audience that its tokens must be made for"`
	OIDCTenant   string   `envconfig:"PAWL_OIDC_TENANT_CLAIM" default:"tenant" desc:"the claim that holds the tenant, by its name or as a path with dots"`
	OIDCSubject  string   `envconfig:"PAWL_OIDC_SUBJECT_CLAIM" default:"sub" desc:"the claim that holds the subject"`
	OIDCRole     string   `envconfig:"PAWL_OIDC_ROLE_CLAIM" default:"role" desc:"the claim that holds the role: submit, read or operate, alone or in a list"`
	OIDCLogin
	Logins
	CORSOrigins []string `envconfig:"PAWL_CORS_ORIGINS" desc:"the origins, by comma, whose pages may use the API, such as https://app.example.com; * is any, with keys alone; none when empty"`
}

// AuthMode is how callers are known.
type AuthMode string

// The ways to know callers.
const (
	AuthNone AuthMode = "none"
	AuthKeys AuthMode = "keys"
)

// Decode reads none or keys.
func (m *AuthMode) Decode(value string) error {
	switch AuthMode(value) {
	case AuthNone, AuthKeys:
		*m = AuthMode(value)
		return nil
	default:
		return fmt.Errorf("want none or keys, have %q", value)
	}
}

func (a *Auth) check() error {
	problems := []error{a.checkIssuer(), a.OIDCLogin.check(a.OIDCIssuer != ""), a.Logins.check(a.Auth == AuthKeys)}
	for _, origin := range a.CORSOrigins {
		if !isOrigin(origin) {
			problems = append(problems, fmt.Errorf(
				"PAWL_CORS_ORIGINS: want origins by comma such as https://app.example.com, without path, have %q", origin))
		}
	}
	if slices.Contains(a.CORSOrigins, "*") && a.Auth != AuthKeys {
		problems = append(problems, errors.New(
			"PAWL_CORS_ORIGINS: * needs PAWL_AUTH=keys: without keys any page could do anything; name the origins"))
	}
	return errors.Join(problems...)
}

func (a *Auth) checkIssuer() error {
	if a.OIDCIssuer == "" {
		if a.OIDCAudience != "" {
			return errors.New("PAWL_OIDC_AUDIENCE: there is no PAWL_OIDC_ISSUER")
		}
		return nil
	}
	parsed, err := url.Parse(a.OIDCIssuer)
	switch {
	case err != nil || parsed.Host == "" || parsed.RawQuery != "" || parsed.Fragment != "":
		return errors.New("PAWL_OIDC_ISSUER: want an address such as https://login.example.com")
	case parsed.Scheme != "https" && (parsed.Scheme != "http" || !onLoopback(parsed.Hostname())):
		return errors.New("PAWL_OIDC_ISSUER: want https: whoever is on the way could make tokens")
	case a.OIDCAudience == "":
		return errors.New("PAWL_OIDC_AUDIENCE is required with PAWL_OIDC_ISSUER: else tokens for other services would do")
	case a.Auth != AuthKeys:
		return errors.New("PAWL_OIDC_ISSUER needs PAWL_AUTH=keys")
	}
	return nil
}

func onLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// isOrigin reports whether a browser may name itself like this, or *.
func isOrigin(origin string) bool {
	if origin == "*" {
		return true
	}
	parsed, err := url.Parse(origin)
	return err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https") && parsed.Host != "" &&
		!strings.Contains(origin, "*") && origin == parsed.Scheme+"://"+parsed.Host && strings.ToLower(origin) == origin
}

// Keys configures `pawl keys`.
type Keys struct {
	RedisURL Secret `envconfig:"PAWL_REDIS_URL" required:"true" desc:"the Redis of the installation, as its programs have it"`
}
