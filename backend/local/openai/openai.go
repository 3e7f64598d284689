package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/internal/wire"
)

const ownURL = "https://api.openai.com/v1"

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
	connection, err := wire.Connection(cfg).WithDefaults(agent.ProviderOpenAI)
	if err != nil {
		return nil, err
	}
	return &Provider{connection: connection}, nil
}

// Factory is the local.ModelFactory of provider "openai".
func (p *Provider) Factory(_ context.Context, definition *agent.Definition, lookup local.Lookup) (local.Model, error) {
	settings, err := wire.Resolve(definition.Model, lookup)
	if err != nil {
		return nil, err
	}
	if settings.BaseURL == "" {
		settings.BaseURL = ownURL
	}
	options := []option.RequestOption{
		option.WithBaseURL(strings.TrimSuffix(settings.BaseURL, "/") + "/"),
		option.WithHTTPClient(p.connection.Client(settings)),
		option.WithMaxRetries(0),
	}
	if settings.Key() != "" {
		options = append(options, option.WithAPIKey(settings.Key()))
	}
	return &Model{settings: settings, completions: sdk.NewChatCompletionService(options...)}, nil
}

// Model asks one model of an API. It may be used by many goroutines.
type Model struct {
	settings    wire.Settings             // immutable
	completions sdk.ChatCompletionService // immutable
}

// Generate sends one request and reads the answer as it arrives. With an error it returns the usage reported so far.
func (m *Model) Generate(ctx context.Context, request local.ModelRequest, sink local.Sink) (local.ModelResponse, error) {
	params, err := m.params(request)
	if err != nil {
		return local.ModelResponse{}, &local.Error{Kind: local.Permanent, Code: "invalid_request", Message: err.Error()}
	}
	var options []option.RequestOption
	if id := request.InvocationID; id != "" && agent.ValidHeaderValue(id) {
		options = append(options, option.WithHeader("X-Client-Request-Id", id))
	}
	stream := m.completions.NewStreaming(ctx, params, options...)
	defer func() { _ = stream.Close() }()
	answer := newAnswer(sink)
	for stream.Next() {
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
	var inStream *streamError
	if ctx.Err() == nil && errors.As(err, &inStream) {
		return wire.StreamFailure(m.settings, inStream.Event.Data)
	}
	return wire.Failed(ctx, agent.ProviderOpenAI, err)
}

// asksOpenAI reports whether the API is OpenAI's or Azure's, which spell the newest fields only.
func (m *Model) asksOpenAI() bool {
	u, err := url.Parse(m.settings.BaseURL)
	if err != nil {
		return false
	}
	host := u.Hostname()
	return host == "api.openai.com" || strings.HasSuffix(host, ".api.openai.com") ||
		strings.HasSuffix(host, ".openai.azure.com") || strings.HasSuffix(host, ".services.ai.azure.com")
}

// String hides the key from every way of printing.
func (m *Model) String() string { return fmt.Sprintf("openai %s", m.settings) }

// GoString hides the key from %#v.
func (m *Model) GoString() string { return m.String() }
