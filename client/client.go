package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-run/pawl/execution"
)

// Config is how a Client is set up. The zero value works.
type Config struct {
	// APIKey is sent as a bearer token. Empty: none.
	APIKey string
	// HTTPClient carries the requests. It must have no Timeout, which would cut streams. nil: a client of its own.
	HTTPClient *http.Client
	// Timeout bounds one request that is neither a stream nor a wait. Default 30s.
	Timeout time.Duration
	// Heartbeat is how often the API sends something on an idle stream; three missed ones and the stream is opened
	// anew. Default 5s.
	Heartbeat time.Duration
	// MinBackoff and MaxBackoff bound the pause before a request or a stream is tried again. Default 100ms and 10s.
	MinBackoff, MaxBackoff time.Duration
	// MaxRetryAfter is the longest pause asked for by the API (Retry-After) that a call waits out. When it asks for more,
	// the call returns its error, whose RetryAfter says how much. Default 1m.
	MaxRetryAfter time.Duration
	// Attempts is how often a call that may be repeated is sent at most. Default 4.
	Attempts int
}

func (c Config) withDefaults() (Config, error) {
	durations := []struct {
		name  string
		value *time.Duration
		def   time.Duration
	}{
		{"Timeout", &c.Timeout, 30 * time.Second},
		{"Heartbeat", &c.Heartbeat, 5 * time.Second},
		{"MinBackoff", &c.MinBackoff, 100 * time.Millisecond},
		{"MaxBackoff", &c.MaxBackoff, 10 * time.Second},
		{"MaxRetryAfter", &c.MaxRetryAfter, time.Minute},
	}
	for _, d := range durations {
		if *d.value == 0 {
			*d.value = d.def
		}
		if *d.value < 0 {
			return c, fmt.Errorf("client: %s must be positive, is %v", d.name, *d.value)
		}
	}
	if c.MinBackoff > c.MaxBackoff {
		return c, fmt.Errorf("client: MinBackoff %v is above MaxBackoff %v", c.MinBackoff, c.MaxBackoff)
	}
	if c.Attempts == 0 {
		c.Attempts = 4
	}
	if c.Attempts < 1 {
		return c, fmt.Errorf("client: Attempts must be at least 1, is %d", c.Attempts)
	}
	if c.HTTPClient != nil && c.HTTPClient.Timeout != 0 {
		return c, errors.New("client: HTTPClient must have no Timeout")
	}
	return c, nil
}

// Client talks to an API. It is safe for concurrent use.
type Client struct {
	base *url.URL
	http *http.Client
	cfg  Config
}

// New makes a client of the API at baseURL, for example http://127.0.0.1:8080. It sends nothing.
func New(baseURL string, cfg Config) (*Client, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(strings.TrimRight(baseURL, "/"))
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("client: %q is not an http:// or https:// URL", baseURL)
	}
	if base.RawQuery != "" || base.Fragment != "" || base.User != nil {
		return nil, errors.New("client: the URL must hold no user, query or fragment")
	}
	c := &Client{base: base, http: cfg.HTTPClient, cfg: cfg}
	if c.http == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxIdleConnsPerHost = transport.MaxIdleConns // there is one host
		c.http = &http.Client{Transport: transport, CheckRedirect: stay}
	}
	return c, nil
}

// stay follows no redirect: one would make a GET of a POST. The answer says where to.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Close closes idle connections. The client stays usable.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Execution returns the view of an execution.
func (c *Client) Execution(ctx context.Context, id execution.ID) (execution.View, error) {
	return c.view(ctx, call{method: http.MethodGet, path: executionPath(id, ""), repeat: true})
}

// Agents lists the agents that may be named in Create.
func (c *Client) Agents(ctx context.Context) ([]execution.AgentSummary, error) {
	var list struct {
		Agents []execution.AgentSummary `json:"agents"`
	}
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/agents", repeat: true}, &list)
	return list.Agents, err
}

func (c *Client) view(ctx context.Context, call call) (execution.View, error) {
	var view execution.View
	_, err := c.do(ctx, call, &view)
	return view, err
}

func executionPath(id execution.ID, rest string) string {
	return "/v1/executions/" + url.PathEscape(string(id)) + rest
}

func formatSequence(s execution.Sequence) string { return strconv.FormatUint(uint64(s), 10) }
