package telemetry

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// scrape is what Prometheus would read.
func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, answer.Code)
	return answer.Body.String()
}

// part is a model, a tool, a prober and a set, as the fields say.
type part struct {
	name     string
	response local.ModelResponse
	answer   local.Answer
	err      error
	tools    []local.Tool
}

func (p *part) Generate(context.Context, local.ModelRequest, local.Sink) (local.ModelResponse, error) {
	return p.response, p.err
}
func (p *part) Spec() local.ToolSpec { return local.ToolSpec{Name: p.name} }
func (p *part) Call(context.Context, local.Invocation, local.Sink) (local.Answer, error) {
	return p.answer, p.err
}

type prober struct{ *part }

func (prober) Probe(context.Context, local.Invocation) (local.ProbeResult, error) {
	return local.ProbeResult{State: local.ProbeAbsent}, nil
}

type set struct{ *part }

func (s set) Tools(context.Context) ([]local.Tool, error) { return s.tools, nil }
func (s set) Find(name string) local.Tool {
	for _, tool := range s.tools {
		if tool.Spec().Name == name {
			return tool
		}
	}
	return nil
}

type given struct{ kit *local.Kit }

func (g given) Build(context.Context, *agent.Definition) (*local.Kit, error) { return g.kit, nil }

func TestCalls_MeasureModelsAndToolsAndChangeNothing(t *testing.T) {
	t.Parallel()
	result := execution.ToolResult{Content: json.RawMessage(`1`)}
	kit := &local.Kit{
		Model: &part{err: &local.Error{Kind: local.Transient, Code: "rate_limited"}},
		Fallback: []local.Model{&part{response: local.ModelResponse{
			Text: "hello", Usage: &execution.Usage{InputTokens: 2_000_000, OutputTokens: 7, CacheReadTokens: 5},
		}}},
		Tools: []local.Tool{
			&part{name: "plain", answer: local.Answer{Result: &result}},
			prober{&part{name: "checked", err: &local.Error{Kind: local.Unknown, Code: "closed"}}},
			set{&part{tools: []local.Tool{&part{name: "inner", answer: local.Answer{Question: &local.Question{}}}}}},
		},
	}
	m := New("worker", "test")
	built, err := m.Calls(given{kit}).Build(t.Context(), &agent.Definition{
		Name: "clerk",
		Model: agent.Model{Name: "large", Fallback: []agent.Model{{
			Name: "small", Prices: &agent.Prices{InputPer1M: 2_500_000, Currency: "EUR"},
		}}},
	})
	require.NoError(t, err)

	_, err = built.Model.Generate(t.Context(), local.ModelRequest{}, nil)
	require.ErrorIs(t, err, kit.Model.(*part).err)
	response, err := built.Fallback[0].Generate(t.Context(), local.ModelRequest{}, nil)
	require.NoError(t, err)
	require.Equal(t, "hello", response.Text)
	for _, name := range []string{"plain", "checked", "inner"} {
		require.NotNil(t, built.Tool(name), name)
		_, _ = built.Tool(name).Call(t.Context(), local.Invocation{}, nil)
	}
	probe, is := built.Tool("checked").(local.Prober)
	require.True(t, is, "a tool that can be asked stays one")
	found, err := probe.Probe(t.Context(), local.Invocation{})
	require.NoError(t, err)
	require.Equal(t, local.ProbeAbsent, found.State)
	_, is = built.Tool("plain").(local.Prober)
	require.False(t, is)
	require.Nil(t, built.Tool("absent"))

	page := scrape(t, m)
	for _, line := range []string{
		`pawl_model_request_seconds_count{agent="clerk",code="rate_limited",model="large"} 1`,
		`pawl_model_request_seconds_count{agent="clerk",code="ok",model="small"} 1`,
		`pawl_tokens_total{agent="clerk",kind="input",model="small"} 2e+06`,
		`pawl_tokens_total{agent="clerk",kind="cache_read",model="small"} 5`,
		`pawl_cost_total{agent="clerk",currency="EUR",model="small"} 5`,
		`pawl_tool_call_seconds_count{agent="clerk",outcome="ok",tool="plain"} 1`,
		`pawl_tool_call_seconds_count{agent="clerk",outcome="unknown",tool="checked"} 1`,
		`pawl_tool_call_seconds_count{agent="clerk",outcome="question",tool="inner"} 1`,
	} {
		require.Contains(t, page, line+"\n")
	}
}

func TestBounded_NamesOfOthersMakeNoEndOfSeries(t *testing.T) {
	t.Parallel()
	b := newBounded()
	values := make(map[string]bool)
	for i := range 10 * maxValues {
		values[b.value(strings.Repeat("x", i))] = true
	}
	require.Len(t, values, maxValues+1)
	require.True(t, values[other])
	require.Equal(t, "x", b.value("x"), "one that was let through stays")
}

func TestRequests_MethodsThatAClientMadeUpAreOne(t *testing.T) {
	t.Parallel()
	m := New("api", "test")
	r := m.Requests()
	for _, method := range []string{"GET", "BREW", "WHEN"} {
		r.Answered(method, "/v1/executions", http.StatusOK, 0)
	}
	r.Streaming("/v1/events", 1)
	page := scrape(t, m)
	require.Contains(t, page, `pawl_http_request_seconds_count{method="GET",route="/v1/executions",status="200"} 1`)
	require.Contains(t, page, `pawl_http_request_seconds_count{method="other",route="/v1/executions",status="200"} 2`)
	require.Contains(t, page, `pawl_stream_clients{route="/v1/events"} 1`)
}

// theirs is a set that is another one for each claim.
type theirs struct{ set }

func (s theirs) For(local.Claim) (own local.ToolSet, done func(bool)) {
	return s.set, func(bool) { s.name = "ended" }
}

func TestCalls_MeasureSetsThatAreAClaimsOwn(t *testing.T) {
	t.Parallel()
	metrics := New("worker", "test")
	result := execution.ToolResult{Content: json.RawMessage(`1`)}
	one := &part{name: "s_one", answer: local.Answer{Result: &result}}
	all := theirs{set{&part{name: "s", tools: []local.Tool{one}}}}
	kit, err := metrics.Calls(given{&local.Kit{Model: &part{}, Tools: []local.Tool{all}}}).Build(t.Context(), &agent.Definition{Name: "demo"})
	require.NoError(t, err)
	own, done := kit.For(local.Claim{})
	require.NotSame(t, kit, own)
	_, err = own.Tool("s_one").Call(t.Context(), local.Invocation{}, nil)
	require.NoError(t, err)
	done(false)
	require.Equal(t, "ended", all.name)
	require.Contains(t, scrape(t, metrics), `pawl_tool_call_seconds_count{agent="demo",outcome="ok",tool="s_one"} 1`)
}
