package a2a

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/pawl-run/pawl/backend"
)

// The defaults of a Config.
const (
	DefaultMaxAnswer = 4 << 20
	DefaultCardTTL   = 5 * time.Minute
	DefaultSendGrace = 300 * time.Millisecond
)

// Config says how the remote agents of a program are reached. The zero value works.
type Config struct {
	Transport http.RoundTripper // nil: a pool of connections of its own
	// MaxAnswer bounds the bytes of one answer; a longer one is an error. DefaultMaxAnswer when 0.
	MaxAnswer int64
	// CardTTL is how long an agent card holds before it is read again. DefaultCardTTL when 0.
	CardTTL time.Duration
	// SendGrace is how long a message under way may take to be answered when its context ends: with the task's id known, the
	// task can be canceled. It is less than whoever leads the run waits. DefaultSendGrace when 0.
	SendGrace time.Duration
	// Observer is told of each request. nil: nobody is.
	Observer Observer
	Now      func() time.Time // time.Now when nil
	Logger   *slog.Logger     // slog.Default when nil
}

// Factory builds the backends of endpoints of kind a2a, which share connections.
type Factory struct{ cfg Config }

var (
	_ backend.Factory   = (*Factory)(nil)
	_ backend.Validator = (*Factory)(nil)
)

// NewFactory refuses bounds that are negative.
func NewFactory(cfg Config) (*Factory, error) {
	if cfg.MaxAnswer < 0 || cfg.CardTTL < 0 || cfg.SendGrace < 0 {
		return nil, errors.New("a2a config: a bound is negative")
	}
	if cfg.Transport == nil {
		cfg.Transport = newPool()
	}
	if cfg.MaxAnswer == 0 {
		cfg.MaxAnswer = DefaultMaxAnswer
	}
	if cfg.CardTTL == 0 {
		cfg.CardTTL = DefaultCardTTL
	}
	if cfg.SendGrace == 0 {
		cfg.SendGrace = DefaultSendGrace
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	return &Factory{cfg: cfg}, nil
}

// Backend is Kind.
func (*Factory) Backend() string { return Kind }

// Validate returns the ConfigError that Build would.
func (*Factory) Validate(endpoint backend.Endpoint) error {
	_, err := newSettings(endpoint)
	return err
}

// Build makes the agent ready without calling it.
func (f *Factory) Build(endpoint backend.Endpoint) (backend.Backend, error) {
	s, err := newSettings(endpoint)
	if err != nil {
		return nil, err
	}
	return &remote{cfg: f.cfg, settings: s, cards: newCards(f.cfg, s)}, nil
}

// Close closes connections that are kept for later requests.
func (f *Factory) Close() {
	if pool, ok := f.cfg.Transport.(*http.Transport); ok {
		pool.CloseIdleConnections()
	}
}

// Capabilities is what every agent of this package can do.
func Capabilities() backend.Capabilities {
	return backend.Capabilities{
		Cancellation: backend.CancelRemoteAbort,
		Continuation: backend.ContinuationRemote,
		Waits:        backend.WaitsInputAndAuth,
		Transcript:   backend.TranscriptIncremental,
		Output:       backend.OutputTextAndArtifacts,
	}
}

// remote is one agent that is elsewhere.
type remote struct {
	cfg      Config
	settings settings
	cards    *cards
}

var _ backend.Backend = (*remote)(nil)

// Capabilities is the same for every agent.
func (*remote) Capabilities() backend.Capabilities { return Capabilities() }

// String hides the credentials from every way of printing.
func (r *remote) String() string { return "a2a agent" }

// GoString hides them from %#v.
func (r *remote) GoString() string { return r.String() }

// Card is what an agent says of itself.
type Card struct {
	Name     string
	Protocol string // the version of the protocol that is spoken with it
	Streams  bool
}

// Describe asks an endpoint for its agent card, which costs nothing. Errors are those of a backend.
func (f *Factory) Describe(ctx context.Context, endpoint backend.Endpoint) (Card, error) {
	s, err := newSettings(endpoint)
	if err != nil {
		return Card{}, err
	}
	agent, err := newCards(f.cfg, s).peer(ctx, untold)
	if err != nil {
		return Card{}, asError(s.failure(err))
	}
	return Card{Name: strings.TrimPrefix(s.quote(agent.name), ": "), Protocol: agent.version, Streams: agent.streams}, nil
}
