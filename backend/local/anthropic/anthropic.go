package anthropic

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/internal/wire"
)

const ownURL = "https://api.anthropic.com"

// Config says what the models of a Provider share. The zero value works.
type Config struct {
	// Transport carries the requests; by default a pool of the Provider's own.
	Transport http.RoundTripper
	// Silence is how long an answer under way may be silent before it is cut; 120s by default.
	Silence time.Duration
}

// Provider makes models. It may be used by many goroutines.
type Provider struct {
	connection wire.Connection // immutable
}

// New makes a Provider.
func New(cfg Config) (*Provider, error) {
	connection, err := wire.Connection(cfg).WithDefaults(agent.ProviderAnthropic)
	if err != nil {
		return nil, err
	}
	return &Provider{connection: connection}, nil
}

// Factory is the local.ModelFactory of provider "anthropic".
func (p *Provider) Factory(_ context.Context, definition *agent.Definition, lookup local.Lookup) (local.Model, error) {
	settings, err := wire.Resolve(definition.Model, lookup)
	if err != nil {
		return nil, err
	}
	if settings.BaseURL == "" {
		settings.BaseURL = ownURL
	}
	// The path of the SDK begins with v1; an address that ends with it, as those of other APIs do, means the same.
	base := strings.TrimSuffix(strings.TrimSuffix(settings.BaseURL, "/"), "/v1")
	options := []option.RequestOption{
		option.WithBaseURL(base + "/"),
		option.WithHTTPClient(p.connection.Client(settings)),
		option.WithMaxRetries(0),
	}
	if settings.Key() != "" {
		// The header of the API's reference, which every compatible server knows; the SDK's own choice is another one.
		options = append(options, option.WithHeader("X-Api-Key", settings.Key()))
	}
	return &Model{settings: settings, messages: sdk.NewMessageService(options...)}, nil
}

// Model asks one model of an API. It may be used by many goroutines.
type Model struct {
	settings wire.Settings      // immutable
	messages sdk.MessageService // immutable
}

// Generate sends one request and reads the answer as it arrives. With an error it returns the usage reported so far.
func (m *Model) Generate(ctx context.Context, request local.ModelRequest, sink local.Sink) (local.ModelResponse, error) {
	params, err := m.params(request)
	if err != nil {
		return local.ModelResponse{}, &local.Error{Kind: local.Permanent, Code: "invalid_request", Message: err.Error()}
	}
	stream := m.messages.NewStreaming(ctx, params)
	defer func() { _ = stream.Close() }()
	answer := newAnswer(sink)
	for !answer.stopped && stream.Next() {
		answer.add(stream.Current())
	}
	if err := stream.Err(); err != nil && (ctx.Err() != nil || !answer.Ended()) {
		return answer.Broken(ctx, request, m.failed(ctx, err))
	}
	response, err := answer.response()
	response = answer.Charged(request, response)
	if err == nil {
		response.Provider = answer.state(m.settings.StateName())
	}
	return response, err
}

// failed makes an error of the SDK one of Generate's.
func (m *Model) failed(ctx context.Context, err error) error {
	var inStream *sdk.Error
	if ctx.Err() == nil && errors.As(err, &inStream) {
		return wire.StreamFailure(m.settings, []byte(inStream.RawJSON()))
	}
	return wire.Failed(ctx, agent.ProviderAnthropic, err)
}

// String hides the key from every way of printing.
func (m *Model) String() string { return fmt.Sprintf("anthropic %s", m.settings) }

// GoString hides the key from %#v.
func (m *Model) GoString() string { return m.String() }
