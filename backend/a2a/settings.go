package a2a

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend"
)

// settings are an endpoint that was checked. They hold the secret: never print them.
type settings struct {
	base    *url.URL // the agent's address, target included
	name    string   // of the header that carries secret; empty: none
	prefix  string
	secret  string
	timeout time.Duration
	request time.Duration
	poll    time.Duration
	stream  bool
	observe time.Duration
	mark    string // names base without showing it
}

// String hides the settings from every way of printing.
func (settings) String() string { return "a2a endpoint" }

// GoString hides the settings from %#v.
func (s settings) GoString() string { return s.String() }

// newSettings refuses with a ConfigError what cannot be used.
func newSettings(endpoint backend.Endpoint) (settings, error) {
	if err := endpoint.Check(); err != nil {
		return settings{}, err
	}
	if problem := agent.CheckURL(endpoint.BaseURL); problem != "" {
		return settings{}, backend.InvalidConfig("endpoint: baseUrl " + problem)
	}
	base, err := url.Parse(endpoint.BaseURL)
	if err != nil || base.RawQuery != "" || base.ForceQuery {
		return settings{}, backend.InvalidConfig("endpoint: baseUrl must not have a ? part")
	}
	if endpoint.Target != "" {
		base = base.JoinPath(strings.Split(endpoint.Target, "/")...)
	}
	s := settings{base: base, timeout: endpoint.Timeout}
	sum := sha256.Sum256([]byte(base.String()))
	s.mark = hex.EncodeToString(sum[:8])
	if err := s.authorize(endpoint.Auth); err != nil {
		return settings{}, err
	}
	return s, s.choose(endpoint.Options)
}

// authorize takes the credentials.
func (s *settings) authorize(auth *backend.EndpointAuth) error {
	if auth == nil {
		return nil
	}
	params := map[string]string{}
	for key, raw := range auth.Params {
		var value string
		if json.Unmarshal(raw, &value) != nil {
			return backend.InvalidConfig("endpoint: auth." + key + " must be text")
		}
		params[key] = value
	}
	switch agent.AuthType(auth.Type) {
	case agent.AuthBearer:
		s.name, s.prefix = "Authorization", "Bearer "
	case agent.AuthAPIKey:
		if s.name = params["header"]; s.name == "" {
			return backend.InvalidConfig("endpoint: auth.header is missing")
		}
	default:
		return backend.InvalidConfig("endpoint: auth.type must be bearer or api_key")
	}
	s.secret = params["token"]
	if strings.TrimSpace(s.secret) == "" {
		return backend.InvalidConfig("endpoint: auth.token is missing")
	}
	if !agent.ValidHeaderValue(s.secret) {
		return backend.InvalidConfig("endpoint: auth.token must not hold line breaks or control characters")
	}
	return nil
}

// choose takes the options, whose names are the kind's own.
func (s *settings) choose(raw map[string]json.RawMessage) error {
	data, err := json.Marshal(raw)
	if err != nil {
		return backend.InvalidConfig("endpoint: options are not JSON")
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var o options
	if err := decoder.Decode(&o); err != nil {
		return backend.InvalidConfig("endpoint: options: " + err.Error())
	}
	for _, option := range []struct {
		name     string
		ms       int64
		into     *time.Duration
		fallback time.Duration
	}{
		{"requestTimeoutMs", o.RequestTimeoutMs, &s.request, agent.DefaultRequestTimeout},
		{"pollMs", o.PollMs, &s.poll, agent.DefaultPoll},
		{"observeMs", o.ObserveMs, &s.observe, agent.DefaultObserve},
	} {
		if option.ms < 0 || option.ms > int64(100*365*24*time.Hour/time.Millisecond) {
			return backend.InvalidConfig("endpoint: options: " + option.name + " is out of range")
		}
		if *option.into = time.Duration(option.ms) * time.Millisecond; option.ms == 0 {
			*option.into = option.fallback
		}
	}
	s.stream = o.Stream
	return nil
}
