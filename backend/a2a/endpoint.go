package a2a

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend"
)

// Kind is the kind of endpoint of this package.
const Kind = agent.BackendA2A

// options are the kind's own part of an endpoint, in milliseconds.
type options struct {
	RequestTimeoutMs int64 `json:"requestTimeoutMs,omitempty"`
	PollMs           int64 `json:"pollMs,omitempty"`
	Stream           bool  `json:"stream,omitempty"`
	ObserveMs        int64 `json:"observeMs,omitempty"`
}

// EndpointOf is the endpoint of a remote definition with its references resolved: it holds secrets, and is never stored.
// Errors name the key and the variable, never a value.
func EndpointOf(d *agent.Definition, lookup func(string) (string, bool)) (backend.Endpoint, error) {
	if !d.Remote() {
		return backend.Endpoint{}, fmt.Errorf("agent %q is not remote", d.Name)
	}
	declared := d.Endpoint
	address, err := agent.Resolve(declared.URL, lookup)
	if err != nil {
		return backend.Endpoint{}, fmt.Errorf("endpoint.url: %w", err)
	}
	if problem := agent.CheckURL(address); problem != "" {
		return backend.Endpoint{}, fmt.Errorf("endpoint.url: %s", problem)
	}
	if strings.Contains(address, "?") {
		return backend.Endpoint{}, errors.New("endpoint.url: must not have a ? part")
	}
	auth, err := authOf(declared.Auth, lookup)
	if err != nil {
		return backend.Endpoint{}, fmt.Errorf("endpoint.auth.token: %w", err)
	}
	raw, err := rawOptions(declared)
	if err != nil {
		return backend.Endpoint{}, err
	}
	return backend.Endpoint{
		Backend: d.Backend, BaseURL: address, Auth: auth, Target: declared.Target, Timeout: declared.Timeout, Options: raw,
	}, nil
}

func authOf(declared *agent.EndpointAuth, lookup func(string) (string, bool)) (*backend.EndpointAuth, error) {
	if declared == nil {
		return nil, nil
	}
	token, err := agent.Resolve(declared.Token, lookup)
	if err != nil {
		return nil, err
	}
	params := map[string]json.RawMessage{}
	for key, value := range map[string]string{"token": token, "header": declared.Header} {
		if value == "" && key == "header" {
			continue
		}
		if params[key], err = json.Marshal(value); err != nil {
			return nil, err
		}
	}
	return &backend.EndpointAuth{Type: string(declared.Type), Params: params}, nil
}

func rawOptions(declared *agent.Endpoint) (map[string]json.RawMessage, error) {
	data, err := json.Marshal(options{
		RequestTimeoutMs: ms(declared.RequestTimeout), PollMs: ms(declared.Poll), Stream: declared.Stream, ObserveMs: ms(declared.Observe),
	})
	if err != nil {
		return nil, fmt.Errorf("endpoint: %w", err)
	}
	var raw map[string]json.RawMessage
	err = json.Unmarshal(data, &raw)
	return raw, err
}

// ms is a duration in milliseconds, rounded up so that none that is there becomes none.
func ms(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}
