package a2a

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/link"
)

// Runtime gives the link of a caller, and what links do not tell: see link.Service, which satisfies it.
type Runtime interface {
	As(authority execution.Authority) link.RuntimeLink
	Standing(ctx context.Context, authority execution.Authority, id execution.ID) (link.Standing, error)
}

// Catalog knows the agents.
type Catalog interface {
	Agent(name string) (*agent.Definition, bool)
	Names() []string
}

// Config is what a Face is made of.
type Config struct {
	Link    Runtime // required
	Catalog Catalog // required
	// URL is the address of the API as others reach it, for cards; required.
	URL string
	// Agent is the agent whose card is at the root; empty: the only published one.
	Agent string
	// Secured says that callers show a bearer credential.
	Secured bool
	// Pushes keeps where others want to be told of their tasks. nil: nobody is told.
	Pushes Pushes
	// PushAllow are networks to which push notifications may go although they are private.
	PushAllow []netip.Prefix
	// PushLocal lets push notifications go to this machine.
	PushLocal bool
	// Wait bounds how long a blocking message waits. Default link.MaxWait.
	Wait time.Duration
	// CancelWait bounds how long a cancel waits for the end. Default 5s.
	CancelWait time.Duration
	// BeginAfter is how long a stream waits for its first event before it begins without: an error that comes by then still has its
	// status. Default 1s.
	BeginAfter time.Duration
	// Heartbeat is how often an idle stream sends a comment. Default 5s.
	Heartbeat time.Duration
	// WriteTimeout bounds how long a client may take to accept what is written. Default 30s.
	WriteTimeout time.Duration
	// Push says how others are told; the zero value works.
	Push PushTiming
	// Version is the program's, for cards.
	Version string
	Logger  *slog.Logger // nil: slog.Default()
}

func (c Config) withDefaults() (Config, error) {
	switch {
	case c.Link == nil:
		return c, errors.New("a2a: Link is required")
	case c.Catalog == nil:
		return c, errors.New("a2a: Catalog is required")
	}
	base, err := url.Parse(c.URL)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.RawQuery != "" || base.User != nil {
		return c, errors.New("a2a: URL must be an address such as https://agents.example.com")
	}
	c.URL = strings.TrimSuffix(c.URL, "/")
	durations := []struct {
		name  string
		value *time.Duration
		def   time.Duration
	}{
		{"Wait", &c.Wait, link.MaxWait},
		{"CancelWait", &c.CancelWait, 5 * time.Second},
		{"BeginAfter", &c.BeginAfter, time.Second},
		{"Heartbeat", &c.Heartbeat, 5 * time.Second},
		{"WriteTimeout", &c.WriteTimeout, 30 * time.Second},
	}
	for _, d := range append(durations, c.Push.defaults()...) {
		if *d.value == 0 {
			*d.value = d.def
		}
		if *d.value < 0 {
			return c, fmt.Errorf("a2a: %s must be positive, is %v", d.name, *d.value)
		}
	}
	if c.Version == "" {
		c.Version = "unknown"
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c, nil
}

// Face is what the agents of others see of an installation. It is a handler of what is at PathRoot and PathCard, for callers
// whose visit the request's context carries. It is safe for concurrent use.
type Face struct {
	cfg    Config
	pusher *pusher // nil: nobody is told
}

// New makes a Face. The error names the field that is wrong.
func New(cfg Config) (*Face, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	f := &Face{cfg: cfg}
	if cfg.Pushes != nil {
		f.pusher = newPusher(f)
	}
	return f, nil
}

// published is the agent of that name, if it is published.
func (f *Face) published(name string) (*agent.Definition, bool) {
	definition, known := f.cfg.Catalog.Agent(name)
	return definition, known && definition.Publish != nil
}

// root is the agent whose card is at the root.
func (f *Face) root() (*agent.Definition, bool) {
	if f.cfg.Agent != "" {
		return f.published(f.cfg.Agent)
	}
	var only *agent.Definition
	for _, name := range f.cfg.Catalog.Names() {
		if definition, is := f.published(name); is {
			if only != nil {
				return nil, false
			}
			only = definition
		}
	}
	return only, only != nil
}
