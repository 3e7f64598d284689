package backend

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"strings"
	"time"
)

// The defaults of an endpoint.
const (
	DefaultEndpointBackend = "a2a"
	DefaultEndpointTimeout = 5 * time.Minute
)

// Endpoint says where a remote agent is.
type Endpoint struct {
	Backend string // the kind: which factory builds it
	BaseURL string // http or https
	Auth    *EndpointAuth
	Target  string // which agent of the remote; empty: its only one
	Timeout time.Duration
	Options map[string]json.RawMessage // the kind's own
}

// EndpointAuth says how to be known at a remote. Params may be secret: neither text nor log shows them.
type EndpointAuth struct {
	Type   string
	Params map[string]json.RawMessage
}

// String is the type alone.
func (a EndpointAuth) String() string { return "auth " + a.Type }

// GoString is the type alone.
func (a EndpointAuth) GoString() string { return a.String() }

// MarshalText is the type alone, so that no JSON and no log holds more.
func (a EndpointAuth) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// DecodeEndpoint reads {"backend"?, "baseUrl", "auth"? {"type", …}, "target"?, "timeoutMs"?, "options"?} and fills in the
// defaults. It refuses unknown fields by name, anything behind the object, and what Check refuses.
func DecodeEndpoint(data []byte) (Endpoint, error) {
	var wire struct {
		Backend   *string                    `json:"backend"`
		BaseURL   string                     `json:"baseUrl"`
		Auth      map[string]json.RawMessage `json:"auth"`
		Target    string                     `json:"target"`
		TimeoutMs *int64                     `json:"timeoutMs"`
		Options   map[string]json.RawMessage `json:"options"`
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&wire); err != nil {
		return Endpoint{}, InvalidConfig("endpoint: " + err.Error())
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Endpoint{}, InvalidConfig("endpoint: trailing bytes")
	}
	endpoint := Endpoint{
		Backend: DefaultEndpointBackend, BaseURL: wire.BaseURL, Target: wire.Target,
		Timeout: DefaultEndpointTimeout, Options: wire.Options,
	}
	if wire.Backend != nil {
		endpoint.Backend = *wire.Backend
	}
	if wire.TimeoutMs != nil {
		if *wire.TimeoutMs > math.MaxInt64/int64(time.Millisecond) {
			return Endpoint{}, InvalidConfig("endpoint: timeoutMs is too large")
		}
		endpoint.Timeout = time.Duration(*wire.TimeoutMs) * time.Millisecond
	}
	if wire.Auth != nil {
		auth := &EndpointAuth{Params: wire.Auth}
		if err := json.Unmarshal(wire.Auth["type"], &auth.Type); err != nil || auth.Type == "" {
			return Endpoint{}, InvalidConfig("endpoint: auth.type is missing")
		}
		delete(auth.Params, "type")
		endpoint.Auth = auth
	}
	return endpoint, endpoint.Check()
}

// Check refuses an endpoint without a kind, an address or a time to answer, with a ConfigError.
func (e Endpoint) Check() error {
	if strings.TrimSpace(e.Backend) == "" {
		return InvalidConfig("endpoint: backend is blank")
	}
	if e.BaseURL == "" {
		return InvalidConfig("endpoint: baseUrl is missing")
	}
	address, err := url.Parse(e.BaseURL)
	if err != nil || address.Host == "" || (address.Scheme != "http" && address.Scheme != "https") {
		return InvalidConfig("endpoint: baseUrl is not an http or https URL")
	}
	if e.Timeout <= 0 {
		return InvalidConfig(fmt.Sprintf("endpoint: timeoutMs must be above 0, not %d", e.Timeout.Milliseconds()))
	}
	return nil
}
