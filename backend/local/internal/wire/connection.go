package wire

import (
	"fmt"
	"net/http"
	"time"
)

// Connection is how the models of one provider reach their servers: the configuration of every adapter.
type Connection struct {
	Transport http.RoundTripper // nil: a pool of connections of its own
	Silence   time.Duration     // 0: 120s
}

// WithDefaults fills in what is not set. The error names the field that is wrong.
func (c Connection) WithDefaults(provider string) (Connection, error) {
	if c.Silence < 0 {
		return c, fmt.Errorf("%s config: Silence is negative", provider)
	}
	if c.Silence == 0 {
		c.Silence = defaultSilence
	}
	if c.Transport == nil {
		c.Transport = newTransport()
	}
	return c, nil
}

// Client makes the HTTP client of one model. The answer must begin within the settings' timeout; from then on no time
// limits it while bytes arrive, and silence cuts it. Every failure is a *local.Error; redirects are failures, because
// following one would carry the key elsewhere.
func (c Connection) Client(s Settings) *http.Client {
	return &http.Client{
		Transport:     &watcher{settings: s, next: c.Transport, silence: c.Silence},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
