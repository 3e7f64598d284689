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
		c.http = &http.Client{Transport: transport}
	}
	return c, nil
}

// Close closes idle connections. The client stays usable.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Create submits an execution; see link.RuntimeLink. With a key it is repeated when the answer is lost.
func (c *Client) Create(
	ctx context.Context, key string, request execution.CreateRequest,
) (execution.Created, error) {
	call := call{method: http.MethodPost, path: "/v1/executions", body: request, repeat: key != ""}
	if key != "" {
		call.header = http.Header{"Idempotency-Key": {key}}
	}
	var created execution.Created
	answer, err := c.do(ctx, call, &created.View)
	created.Replayed = err == nil && answer.Header.Get("Idempotency-Replayed") == "true"
	return created, err
}

// Execution returns the view of an execution.
func (c *Client) Execution(ctx context.Context, id execution.ID) (execution.View, error) {
	return c.view(ctx, call{method: http.MethodGet, path: executionPath(id, ""), repeat: true})
}

// Wait returns the view when the execution changes or has ended, or after d, at most a minute; see link.RuntimeLink.
func (c *Client) Wait(
	ctx context.Context, id execution.ID, version uint64, d time.Duration,
) (execution.View, error) {
	query := url.Values{"wait": {d.String()}}
	if version != 0 {
		query.Set("version", strconv.FormatUint(version, 10))
	}
	return c.view(ctx, call{
		method: http.MethodGet, path: executionPath(id, ""), query: query, repeat: true, longer: min(d, time.Minute),
	})
}

// Events returns a page of an execution's log.
func (c *Client) Events(
	ctx context.Context, id execution.ID, after execution.Sequence, limit int,
) (execution.EventPage, error) {
	query := url.Values{"after": {formatSequence(after)}, "limit": {strconv.Itoa(limit)}}
	var page execution.EventPage
	_, err := c.do(ctx, call{
		method: http.MethodGet, path: executionPath(id, "/events"), query: query, repeat: true,
	}, &page)
	return page, err
}

// SubmitInput answers the open interaction. It is repeated when the answer is lost: the operation id makes that safe.
func (c *Client) SubmitInput(
	ctx context.Context, id execution.ID, input execution.SubmitInput,
) (execution.View, error) {
	return c.view(ctx, call{
		method: http.MethodPost, path: executionPath(id, "/input"), body: input, repeat: true,
	})
}

// Cancel ends the execution, or asks its holder to.
func (c *Client) Cancel(ctx context.Context, id execution.ID) (execution.Steered, error) {
	return c.steer(ctx, id, "/cancel", nil)
}

// Pause suspends the execution; a running one when the node in flight has ended.
func (c *Client) Pause(ctx context.Context, id execution.ID) (execution.Steered, error) {
	return c.steer(ctx, id, "/pause", nil)
}

// Resume takes a suspended execution back to where it was.
func (c *Client) Resume(
	ctx context.Context, id execution.ID, request execution.ResumeRequest,
) (execution.Steered, error) {
	return c.steer(ctx, id, "/resume", request)
}

// steer sends a command. It is repeated when the answer is lost: then the command may have changed something although
// the answer says that it did not.
func (c *Client) steer(ctx context.Context, id execution.ID, command string, body any) (execution.Steered, error) {
	var steered execution.Steered
	answer, err := c.do(ctx, call{
		method: http.MethodPost, path: executionPath(id, command), body: body, repeat: true,
	}, &steered.View)
	steered.Changed = err == nil && answer.StatusCode == http.StatusAccepted
	return steered, err
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
