package httptool

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// defaultMaxBody is how many bytes of an answer are read when the configuration does not say.
const defaultMaxBody = 16 << 20

// Config bounds all calls of one Client.
type Config struct {
	// MaxBody is the longest answer in bytes; a longer one is refused. Default 16 MiB.
	MaxBody int64
	// DialTimeout bounds the connection's set-up, TLS included; 10s by default. The call's own timeout bounds it too.
	DialTimeout time.Duration
}

// Client is what all http tools of a program share: its connections.
type Client struct {
	cfg    Config // immutable
	kept   *http.Client
	single *http.Client // never uses a connection twice
}

// NewClient makes a Client.
func NewClient(cfg Config) (*Client, error) {
	if cfg.MaxBody < 0 {
		return nil, fmt.Errorf("httptool config: MaxBody is negative")
	}
	if cfg.DialTimeout < 0 {
		return nil, fmt.Errorf("httptool config: DialTimeout is negative")
	}
	if cfg.MaxBody == 0 {
		cfg.MaxBody = defaultMaxBody
	}
	if cfg.DialTimeout == 0 {
		cfg.DialTimeout = 10 * time.Second
	}
	return &Client{cfg: cfg, kept: newHTTPClient(cfg, false), single: newHTTPClient(cfg, true)}, nil
}

// Close closes the connections that are kept for later calls. Calls in flight go on.
func (c *Client) Close() { c.kept.CloseIdleConnections() }

func newHTTPClient(cfg Config, single bool) *http.Client {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	dialer := &net.Dialer{Timeout: cfg.DialTimeout, KeepAlive: 30 * time.Second}
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  nil, // the agent file alone says where a call goes
			DialContext:            dialer.DialContext,
			Protocols:              protocols,
			DisableKeepAlives:      single,
			TLSHandshakeTimeout:    cfg.DialTimeout,
			MaxIdleConns:           100,
			MaxIdleConnsPerHost:    16,
			IdleConnTimeout:        30 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// errTimeout is the cause of a call whose own timeout has passed.
var errTimeout = errors.New("the call's timeout has passed")
