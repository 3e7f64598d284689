package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/a2a"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/mcptool"
	"github.com/pawl-run/pawl/internal/version"
)

// probeAgents asks every MCP server, every model's endpoint and every remote agent, all at once, each in its own time.
func probeAgents(ctx context.Context, timeout time.Duration, definitions []*agent.Definition, report *AgentsReport) error {
	servers, err := mcptool.NewServers(mcptool.Config{
		StartTimeout: timeout, ListTimeout: timeout, Version: version.Read().Version, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	defer servers.Close()
	var asked sync.WaitGroup
	for i, d := range definitions {
		checked := &report.Agents[i]
		if d.Remote() {
			asked.Go(func() { checked.Endpoint.Probe = probeRemote(ctx, timeout, d) })
			continue
		}
		for j, model := range append([]agent.Model{d.Model}, d.Model.Fallback...) {
			asked.Go(func() { checked.Models[j].Probe = probeModel(ctx, timeout, &model) })
		}
		for j := range d.Tools {
			if d.Tools[j].Type == agent.ToolMCP {
				asked.Go(func() { probeServer(ctx, timeout, servers, d.Tools[j], &checked.Tools[j]) })
			}
		}
	}
	asked.Wait()
	for i := range report.Agents {
		endpoint := report.Agents[i].Endpoint
		report.OK = report.OK && (endpoint == nil || endpoint.Probe == nil || endpoint.Probe.OK)
		for _, model := range report.Agents[i].Models {
			report.OK = report.OK && (model.Probe == nil || model.Probe.OK)
		}
		for _, tool := range report.Agents[i].Tools {
			report.OK = report.OK && (tool.Probe == nil || tool.Probe.OK)
		}
	}
	return nil
}

// probed measures what ask does.
func probed(ask func() (string, error)) *Probed {
	began := time.Now()
	message, err := ask()
	took := time.Since(began).Milliseconds()
	if err != nil {
		return &Probed{Message: err.Error(), TookMs: took}
	}
	return &Probed{OK: true, Message: message, TookMs: took}
}

// probeServer asks an MCP server for its tools.
func probeServer(ctx context.Context, timeout time.Duration, servers *mcptool.Servers, declared agent.Tool, checked *CheckedTool) {
	checked.Probe = probed(func() (string, error) {
		if declared.Auth == agent.AuthDelegation {
			_, err := servers.NewDelegated(declared, os.LookupEnv)
			return "not asked: it is reached with the tokens of executions", err
		}
		set, err := servers.New(declared, os.LookupEnv)
		if err != nil {
			return "", err
		}
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		tools, err := set.Tools(ctx)
		if failed := new(local.Error); errors.As(err, &failed) {
			return "", errors.New(failed.Message)
		}
		if err != nil {
			return "", err
		}
		for _, tool := range tools {
			spec := tool.Spec()
			checked.Gives = append(checked.Gives, GivenTools{Name: spec.Name, Recovery: string(spec.Recovery)})
		}
		if len(tools) == 1 {
			return "it gives 1 tool", nil
		}
		return fmt.Sprintf("it gives %d tools", len(tools)), nil
	})
}

// probeRemote asks a remote agent for its card.
func probeRemote(ctx context.Context, timeout time.Duration, d *agent.Definition) *Probed {
	return probed(func() (string, error) {
		endpoint, err := a2a.EndpointOf(d, os.LookupEnv)
		if err != nil {
			return "", err
		}
		factory, err := a2a.NewFactory(a2a.Config{})
		if err != nil {
			return "", err
		}
		defer factory.Close()
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		card, err := factory.Describe(ctx, endpoint)
		if failed := new(local.Error); errors.As(err, &failed) {
			return "", errors.New(failed.Message)
		}
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%q speaks A2A %s", card.Name, card.Protocol), nil
	})
}

// The addresses of the providers' own APIs.
const (
	openAIBase    = "https://api.openai.com/v1"
	anthropicBase = "https://api.anthropic.com"
)

// probeModel asks a model's endpoint for its list of models, which costs nothing. Any answer but one that refuses the key
// is good: not every server has the list. Nil for a model without an endpoint.
func probeModel(ctx context.Context, timeout time.Duration, model *agent.Model) *Probed {
	if model.Provider != agent.ProviderOpenAI && model.Provider != agent.ProviderAnthropic {
		return nil
	}
	return probed(func() (string, error) {
		base, err := agent.Resolve(model.BaseURL, os.LookupEnv)
		if err != nil {
			return "", fmt.Errorf("baseURL: %w", err)
		}
		key, err := agent.Resolve(model.APIKey, os.LookupEnv)
		if err != nil {
			return "", fmt.Errorf("apiKey: %w", err)
		}
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, modelsURL(model.Provider, base), nil)
		if err != nil {
			return "", errors.New("baseURL is not a URL")
		}
		authorize(request, model.Provider, key)
		status, err := askStatus(request)
		switch {
		case err != nil:
			return "", err
		case status == http.StatusUnauthorized, status == http.StatusForbidden:
			return "", fmt.Errorf("the endpoint refuses the key (%d)", status)
		default:
			return fmt.Sprintf("the endpoint answers (%d)", status), nil
		}
	})
}

// modelsURL is where the list of models is.
func modelsURL(provider, base string) string {
	base = strings.TrimRight(base, "/")
	switch {
	case provider == agent.ProviderOpenAI && base == "":
		base = openAIBase
	case provider == agent.ProviderAnthropic:
		if base == "" {
			base = anthropicBase
		}
		base = strings.TrimSuffix(base, "/v1") + "/v1"
	}
	return base + "/models"
}

func authorize(request *http.Request, provider, key string) {
	request.Header.Set("User-Agent", "pawl")
	if provider == agent.ProviderAnthropic {
		request.Header.Set("Anthropic-Version", "2023-06-01")
	}
	switch {
	case key == "":
	case provider == agent.ProviderAnthropic:
		request.Header.Set("X-Api-Key", key)
	default:
		request.Header.Set("Authorization", "Bearer "+key)
	}
}

// askStatus sends a request and drops the answer. Its errors show no address, which may hold a secret.
func askStatus(request *http.Request) (int, error) {
	transport := &http.Transport{Proxy: nil, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10}
	client := &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err == nil {
		return response.StatusCode, response.Body.Close()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return 0, errors.New("the endpoint does not answer in time")
	}
	var network *net.OpError
	var withURL *url.Error
	switch {
	case errors.As(err, &network):
		return 0, fmt.Errorf("the endpoint cannot be reached: %s: %w", network.Op, network.Err)
	case errors.As(err, &withURL):
		return 0, fmt.Errorf("the endpoint cannot be reached: %w", withURL.Err)
	default:
		return 0, errors.New("the endpoint cannot be reached")
	}
}
