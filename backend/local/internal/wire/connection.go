package wire

import (
	"fmt"
	"net/http"
	"time"
)

// Connection is how the models of one provider reach their servers: the configuration of every adapter.
type Connection struct {
	Transport http.RoundTripper // nil: a pool of connections of its own
	Silence   time.Duration     // 0: DefaultSilence
}

// WithDefaults fills in what is not set. The error names the field that is wrong.
func (c Connection) WithDefaults(provider string) (Connection, error) {
	if c.Silence < 0 {
		return c, fmt.Errorf("%s config: Silence is negative", provider)
	}
	if c.Silence == 0 {
		c.Silence = DefaultSilence
	}
	if c.Transport == nil {
		c.Transport = NewTransport()
	}
	return c, nil
}

// Client makes the HTTP client of one model.
func (c Connection) Client(s Settings) *http.Client { return Client(s, c.Transport, c.Silence) }
