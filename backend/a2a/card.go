package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2aclient"

	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/internal/a2arpc"
)

const (
	maxCard = 1 << 20
	// staleCard is how long an old card holds on when no new one is to be had.
	staleCard = 30 * time.Second
	slowCard  = 30 * time.Second
)

// cardPaths are where cards are, the present place first.
var cardPaths = []string{"/.well-known/agent-card.json", "/.well-known/agent.json"}

// peer is an agent as its card describes it.
type peer struct {
	transport a2aclient.Transport
	name      string
	version   string // of the protocol
	streams   bool   // as the card says
	// streamless says that the agent has refused a stream.
	streamless atomic.Bool
}

// cards keeps the card of one agent, and reads it when it is first needed.
type cards struct {
	settings settings
	client   *http.Client
	ttl      time.Duration
	now      func() time.Time

	// over counts the reads that have come to an end.
	over atomic.Int64
	turn chan struct{} // holds one token: whoever has it owns what follows
	last *peer
	ends time.Time
	why  error // why the last read failed
}

func newCards(cfg Config, s settings) *cards {
	c := &cards{settings: s, client: newClient(cfg, s), ttl: cfg.CardTTL, now: cfg.Now, turn: make(chan struct{}, 1)}
	c.turn <- struct{}{}
	return c
}

// peer is the agent. An old card holds on for a while when the remote does not give a new one. Those who wait while somebody
// reads share what comes of it, a failure too: a remote that is silent holds up nobody for longer than one read.
func (c *cards) peer(ctx context.Context, ask asking) (*peer, error) {
	before := c.over.Load()
	bounded, done := c.settings.within(ctx, slowCard)
	defer done()
	select {
	case <-c.turn:
		defer func() { c.turn <- struct{}{} }()
	case <-bounded.Done():
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, c.settings.failure(&networkError{cause: errTimeout})
	}
	if c.last != nil && c.now().Before(c.ends) {
		return c.last, nil
	}
	if c.why != nil && c.over.Load() != before {
		return nil, c.why
	}
	read, err := c.ask(ctx, bounded, ask)
	if c.why = err; ctx.Err() == nil { // else it failed because the one who asked was stopped
		c.over.Add(1)
	}
	switch {
	case err == nil:
		c.last, c.ends = read, c.now().Add(c.ttl)
	case c.last == nil || local.KindOf(err) == local.Permanent:
		c.last = nil
		return nil, err
	default:
		c.ends = c.now().Add(staleCard)
	}
	return c.last, nil
}

// ask reads the card within the time of bounded, which is ctx otherwise.
func (c *cards) ask(ctx, bounded context.Context, ask asking) (*peer, error) {
	asked, told := ask(ctx, MethodCard)
	if end, is := bounded.Deadline(); is {
		var done context.CancelFunc
		asked, done = context.WithDeadlineCause(asked, end, errTimeout)
		defer done()
	}
	read, err := c.read(asked)
	told(err)
	return read, err
}

// read asks for the card at each place in turn.
func (c *cards) read(ctx context.Context) (*peer, error) {
	for _, path := range cardPaths {
		data, err := c.get(ctx, path)
		var status *statusError
		if errors.As(err, &status) && (status.status == http.StatusNotFound || status.status == http.StatusMethodNotAllowed) {
			continue
		}
		if err != nil {
			return nil, repeatable(c.settings.failure(err))
		}
		return c.open(data)
	}
	return nil, permanent(CodeNoCard, "there is no agent card at "+strings.Join(cardPaths, " nor at ")+" of the endpoint")
}

func (c *cards) get(ctx context.Context, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.settings.base.JoinPath(path).String(), nil)
	if err != nil {
		return nil, permanent(CodeNoCard, "the endpoint is no URL")
	}
	request.Header.Set("Accept", "application/json")
	response, err := c.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }() // it was read
	return io.ReadAll(&bounded{ReadCloser: response.Body, left: maxCard})
}

// wireCard is what matters of a card of any version.
type wireCard struct {
	Name                 string `json:"name"`
	URL                  string `json:"url"`
	PreferredTransport   string `json:"preferredTransport"`
	ProtocolVersion      string `json:"protocolVersion"`
	AdditionalInterfaces []struct {
		URL       string `json:"url"`
		Transport string `json:"transport"`
	} `json:"additionalInterfaces"`
	// SupportedInterfaces is what cards of 1.0 have in place of the above.
	SupportedInterfaces []struct {
		URL             string `json:"url"`
		ProtocolBinding string `json:"protocolBinding"`
		ProtocolVersion string `json:"protocolVersion"`
	} `json:"supportedInterfaces"`
	Capabilities struct {
		Streaming bool `json:"streaming"`
	} `json:"capabilities"`
}

// face is one way to reach an agent.
type face struct{ address, transport, version string }

// faces are the ways to reach the agent, the ones it prefers first. A card of the form of 0.3 alone is one of 0.3, whatever
// version it claims: cards of 1.0 have another form.
func (w *wireCard) faces() []face {
	var all []face
	if len(w.SupportedInterfaces) == 0 && !legacy(w.ProtocolVersion) {
		w.ProtocolVersion = a2arpc.Spoken
	}
	if w.URL != "" {
		all = append(all, face{w.URL, w.PreferredTransport, w.ProtocolVersion})
	}
	for _, i := range w.AdditionalInterfaces {
		all = append(all, face{i.URL, i.Transport, w.ProtocolVersion})
	}
	for _, i := range w.SupportedInterfaces {
		all = append(all, face{i.URL, i.ProtocolBinding, i.ProtocolVersion})
	}
	return all
}

// speaks reports whether the face is one that this package can talk to. No transport stands for JSON-RPC.
func (f face) speaks() bool {
	transport := f.transport == "" || f.transport == string(a2a.TransportProtocolJSONRPC)
	return transport && legacy(f.version)
}

// legacy reports whether the version of a card is one that is a2arpc.Spoken here. Nothing stands for one before cards had any.
func legacy(version string) bool {
	return version == "" || strings.HasPrefix(version, "0.3") || strings.HasPrefix(version, "0.2")
}

// open chooses the way that the card prefers among those that are a2arpc.Spoken here.
func (c *cards) open(data []byte) (*peer, error) {
	var card wireCard
	if err := json.Unmarshal(data, &card); err != nil {
		return nil, permanent(CodeMalformed, "the agent card cannot be read")
	}
	faces := card.faces()
	for _, f := range faces {
		if !f.speaks() {
			continue
		}
		address, err := url.Parse(f.address)
		if err != nil || address.Host == "" || address.User != nil {
			return nil, permanent(CodeMalformed, "the agent card names an address that is none")
		}
		if here(address, c.settings.base) {
			address.Host = c.settings.base.Host
		}
		if !sameHost(address, c.settings.base) {
			return nil, permanent(CodeRefused, fmt.Sprintf("the agent card leads to another host, %s://%s: name that one in endpoint.url",
				address.Scheme, address.Host))
		}
		version := f.version
		if version == "" {
			version = a2arpc.Spoken
		}
		return &peer{
			transport: a2aclient.NewJSONRPCTransport(address.String(), c.client), name: card.Name, version: version,
			streams: card.Capabilities.Streaming,
		}, nil
	}
	return nil, permanent(CodeVersion, "the agent speaks "+spokenWords(faces)+"; Pawl speaks A2A "+a2arpc.Spoken+" by JSONRPC")
}

// here reports whether an address of a card is another name of the host that the card came from: no host in particular, or
// the loopback when that is where Pawl has asked.
func here(address, base *url.URL) bool {
	if address.Port() != base.Port() {
		return false
	}
	ip := net.ParseIP(address.Hostname())
	return ip.IsUnspecified() || loopback(address.Hostname()) && loopback(base.Hostname())
}

func loopback(host string) bool { return host == "localhost" || net.ParseIP(host).IsLoopback() }

func spokenWords(faces []face) string {
	words := make([]string, 0, len(faces))
	for _, f := range faces {
		words = append(words, strings.TrimSpace(f.transport+" "+f.version))
	}
	if len(words) == 0 {
		return "nothing that its card names"
	}
	return strings.Join(words, ", ")
}
