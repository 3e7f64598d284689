package config

import (
	"errors"
	"net/url"
	"strings"
)

// loginReturn is where the dashboard takes browsers back that come from the issuer.
const loginReturn = "/dashboard/login/callback"

// OIDCLogin says how browsers log in on the issuer's own page.
type OIDCLogin struct {
	ClientID     string   `envconfig:"PAWL_OIDC_CLIENT_ID" desc:"the client as which the dashboard logs people in on the issuer's page; no such login when empty"`
	ClientSecret Secret   `envconfig:"PAWL_OIDC_CLIENT_SECRET" desc:"its secret; none when it is a public client"`
	RedirectURL  string   `envconfig:"PAWL_OIDC_REDIRECT_URL" desc:"where the issuer sends people back to, such as https://pawl.example.com/dashboard/login/callback; as they asked for when empty"`
	Scopes       []string `envconfig:"PAWL_OIDC_SCOPES" default:"openid" desc:"the scopes that are asked for, by comma; openid always is"`
	Name         string   `envconfig:"PAWL_OIDC_NAME" desc:"what the login page calls the issuer; its host when empty"`
}

// check is asked with whether there is an issuer.
func (l *OIDCLogin) check(issuer bool) error {
	switch {
	case l.ClientID == "" && (l.ClientSecret != "" || l.RedirectURL != ""):
		return errors.New("PAWL_OIDC_CLIENT_SECRET and PAWL_OIDC_REDIRECT_URL are of a client: there is no PAWL_OIDC_CLIENT_ID")
	case l.ClientID == "":
		return nil
	case !issuer:
		return errors.New("PAWL_OIDC_CLIENT_ID: there is no PAWL_OIDC_ISSUER")
	}
	for _, scope := range l.Scopes {
		if scope == "" || strings.ContainsAny(scope, " \t\"\\") {
			return errors.New("PAWL_OIDC_SCOPES: want scopes by comma, such as openid,email")
		}
	}
	if l.RedirectURL == "" {
		return nil
	}
	parsed, err := url.Parse(l.RedirectURL)
	switch {
	case err != nil || parsed.Host == "" || parsed.Path != loginReturn || parsed.RawQuery != "" || parsed.Fragment != "":
		return errors.New("PAWL_OIDC_REDIRECT_URL: want an address such as https://pawl.example.com" + loginReturn)
	case parsed.Scheme != "https" && (parsed.Scheme != "http" || !onLoopback(parsed.Hostname())):
		return errors.New("PAWL_OIDC_REDIRECT_URL: want https: whoever is on the way could log in")
	}
	return nil
}
