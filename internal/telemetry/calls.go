package telemetry

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// calls measures and traces model requests and tool calls.
type calls struct {
	models, tools         *prometheus.HistogramVec
	tokens, cost          *prometheus.CounterVec
	modelNames, toolNames *bounded
}

// Calls measures and traces the model requests and tool calls of whatever the builder builds.
func (m *Metrics) Calls(builder local.Builder) local.Builder {
	return &measuredBuilder{next: builder, calls: &calls{
		models: m.seconds("pawl_model_request_seconds", "How long model requests took, by the code of their error (ok: none).",
			slow(), "agent", "model", "code"),
		tools: m.seconds("pawl_tool_call_seconds", "How long tool calls took, by how they came out.",
			slow(), "agent", "tool", "outcome"),
		tokens: m.counter("pawl_tokens_total", "Tokens, as providers have reported them; cached ones are part of the input.",
			"agent", "model", "kind"),
		cost: m.counter("pawl_cost_total", "What model requests cost by the agents' prices, in the currency's unit.",
			"agent", "model", "currency"),
		modelNames: newBounded(), toolNames: newBounded(),
	}}
}

// measuredBuilder builds kits that measure.
type measuredBuilder struct {
	next  local.Builder
	calls *calls
}

// Build implements local.Builder.
func (b *measuredBuilder) Build(ctx context.Context, definition *agent.Definition) (*local.Kit, error) {
	kit, err := b.next.Build(ctx, definition)
	if err != nil {
		return nil, err
	}
	out := *kit
	out.Fallback, out.Tools = make([]local.Model, len(kit.Fallback)), make([]local.Tool, len(kit.Tools))
	for i := range out.Fallback {
		out.Fallback[i] = b.calls.model(definition, i+1, kit.Fallback[i])
	}
	out.Model = b.calls.model(definition, 0, kit.Model)
	for i, tool := range kit.Tools {
		out.Tools[i] = b.calls.tool(definition.Name, tool)
	}
	return &out, nil
}

// measuredModel is the model that is asked after so many failures.
type measuredModel struct {
	local.Model
	calls                 *calls
	agent, name, provider string
	prices                *agent.Prices
}

func (c *calls) model(definition *agent.Definition, failed int, model local.Model) local.Model {
	declared := definition.Model.At(failed)
	name := declared.Name
	if name == "" {
		name = declared.Provider
	}
	return &measuredModel{
		Model: model, calls: c, agent: definition.Name, name: c.modelNames.value(name),
		provider: declared.Provider, prices: declared.Prices,
	}
}

// Generate implements local.Model.
func (m *measuredModel) Generate(
	ctx context.Context, request local.ModelRequest, sink local.Sink,
) (local.ModelResponse, error) {
	began := time.Now()
	traced, span := m.chat(ctx)
	response, err := m.Model.Generate(traced, request, sink)
	word := code(ctx, err)
	answered(span, response, word, err)
	m.calls.models.WithLabelValues(m.agent, m.name, word).Observe(time.Since(began).Seconds())
	if response.Usage != nil {
		m.spent(response.Usage)
	}
	return response, err
}

func (m *measuredModel) spent(usage *execution.Usage) {
	for kind, tokens := range map[string]int64{
		"input": usage.InputTokens, "output": usage.OutputTokens,
		"cache_read": usage.CacheReadTokens, "cache_write": usage.CacheWriteTokens,
	} {
		if tokens > 0 {
			m.calls.tokens.WithLabelValues(m.agent, m.name, kind).Add(float64(tokens))
		}
	}
	if m.prices != nil {
		m.calls.cost.WithLabelValues(m.agent, m.name, m.prices.Currency).Add(float64(m.prices.Cost(*usage)) / 1e6)
	}
}

// code is that of the error: those of adapters are few and stable.
func code(ctx context.Context, err error) string {
	var classified *local.Error
	switch {
	case err == nil:
		return "ok"
	case ctx.Err() != nil:
		return "interrupted"
	case errors.As(err, &classified):
		return classified.Code
	default:
		return "error"
	}
}

func (c *calls) tool(agent string, tool local.Tool) local.Tool {
	measured := &measuredTool{Tool: tool, calls: c, agent: agent}
	if set, is := tool.(local.DelegatedSet); is {
		return &measuredDelegated{measuredSet: measuredSet{ToolSet: set, calls: c, agent: agent}, set: set}
	}
	if set, is := tool.(local.ToolSet); is {
		return &measuredSet{ToolSet: set, calls: c, agent: agent}
	}
	if prober, is := tool.(local.Prober); is {
		return &measuredProber{measuredTool: measured, Prober: prober}
	}
	return measured
}

// measuredTool is a tool that measures its calls.
type measuredTool struct {
	local.Tool
	calls *calls
	agent string
}

// Call implements local.Tool.
func (t *measuredTool) Call(ctx context.Context, call local.Invocation, sink local.Sink) (local.Answer, error) {
	began, name := time.Now(), t.calls.toolNames.value(t.Spec().Name)
	traced, span := t.execute(ctx, name, call)
	answer, err := t.Tool.Call(traced, call, sink)
	word := outcome(ctx, answer, err)
	if word != outcomeOK && word != outcomeQuestion {
		failed(span, word)
	}
	span.End()
	t.calls.tools.WithLabelValues(t.agent, name, word).Observe(time.Since(began).Seconds())
	return answer, err
}

const (
	outcomeOK       = "ok"
	outcomeQuestion = "question"
)

// outcome is how a call came out: ok, error (a result that is one), question, or the kind of failure.
func outcome(ctx context.Context, answer local.Answer, err error) string {
	switch {
	case err != nil && ctx.Err() != nil:
		return "interrupted"
	case err != nil:
		return string(local.KindOf(err))
	case answer.Question != nil:
		return outcomeQuestion
	case answer.Result != nil && answer.Result.IsError:
		return "error"
	default:
		return outcomeOK
	}
}

// measuredProber is a tool that can say what became of a call.
type measuredProber struct {
	*measuredTool
	local.Prober
}

// measuredSet is a set whose tools measure.
type measuredSet struct {
	local.ToolSet
	calls *calls
	agent string
}

// Tools implements local.ToolSet.
func (s *measuredSet) Tools(ctx context.Context) ([]local.Tool, error) {
	tools, err := s.ToolSet.Tools(ctx)
	measured := make([]local.Tool, len(tools))
	for i, tool := range tools {
		measured[i] = s.calls.tool(s.agent, tool)
	}
	return measured, err
}

// Find implements local.ToolSet.
func (s *measuredSet) Find(name string) local.Tool {
	tool := s.ToolSet.Find(name)
	if tool == nil {
		return nil
	}
	return s.calls.tool(s.agent, tool)
}

// measuredDelegated is a set that is another one for each claim.
type measuredDelegated struct {
	measuredSet
	set local.DelegatedSet
}

// For implements local.DelegatedSet.
func (s *measuredDelegated) For(claim local.Claim) (set local.ToolSet, done func(goesOn bool)) {
	own, done := s.set.For(claim)
	return &measuredSet{ToolSet: own, calls: s.calls, agent: s.agent}, done
}
