package spend

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/anthropic"
	"github.com/pawl-run/pawl/backend/local/openai"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/executor"
	"github.com/pawl-run/pawl/test/modelserver"
)

const hungry = `
agents:
  hungry:
    model: {provider: $PROVIDER, name: test-model, baseURL: "$MODELS", prices: {inputPer1M: 2.5, outputPer1M: 10}}
    instructions: Look it up, as often as it takes.
    tools:
      - {name: look, type: http, url: "http://127.0.0.1:1/", description: Looks., recovery: read_only, parameters: {type: object}}
    limits: {$LIMIT}
`

// meter is a model that never has enough, and counts what it is asked.
type meter struct {
	mu       sync.Mutex
	requests int64 // guarded by mu
	input    int64 // guarded by mu
	output   int64 // guarded by mu
	over     []string
	check    func(m *meter, input, most int64) string
}

const appetite = 60 // output tokens of an answer that nobody bounds

// answer asks for one more call. Its tokenizer makes a token of three bytes.
func (m *meter) answer(r modelserver.Request) modelserver.Reply {
	m.mu.Lock()
	defer m.mu.Unlock()
	input, most := int64(len(r.Body)/3), r.MaxOutputTokens
	m.requests++
	if over := m.check(m, input, most); over != "" {
		m.over = append(m.over, over)
	}
	output := int64(appetite)
	reply := modelserver.Reply{Calls: []modelserver.Call{{Name: "look", Arguments: fmt.Sprintf(`{"page":%d}`, m.requests)}}}
	if most > 0 && most < output {
		output = most
		reply = modelserver.Reply{Text: []string{"I need"}, Cut: true}
	}
	m.input, m.output = m.input+input, m.output+output
	reply.Usage = &modelserver.Usage{Input: input, Output: output}
	return reply
}

// cost is in millionths of a dollar.
func cost(input, output int64) int64 {
	return (input*2_500_000 + output*10_000_000 + 999_999) / 1_000_000
}

// Case J3: with a limit of each kind the execution ends before the request that would pass it: every request that arrives
// has room for the most that it may cost, and what was used is within the limit in the end.
func TestCaseJ3_NoRequestArrivesThatWouldPassALimit(t *testing.T) {
	t.Parallel()
	for limit, c := range map[string]struct {
		value string
		check func(m *meter, input, most int64) bool // whether the request has room
	}{
		"maxModelRequests": {"4", func(m *meter, _, _ int64) bool { return m.requests <= 4 }},
		"maxInputTokens":   {"6000", func(m *meter, input, _ int64) bool { return m.input+input <= 6000 }},
		"maxOutputTokens":  {"250", func(m *meter, _, most int64) bool { return most > 0 && m.output+most <= 250 }},
		"maxTotalTokens": {"6000", func(m *meter, input, most int64) bool {
			return most > 0 && m.input+m.output+input+most <= 6000
		}},
		"maxCost": {"0.02", func(m *meter, input, most int64) bool {
			return most > 0 && cost(m.input+input, m.output+most) <= 20_000
		}},
		"maxToolCalls": {"3", func(m *meter, _, _ int64) bool { return m.requests <= 4 }},
	} {
		for _, provider := range []string{agent.ProviderOpenAI, agent.ProviderAnthropic} {
			t.Run(limit+" "+provider, func(t *testing.T) {
				t.Parallel()
				m := &meter{check: func(m *meter, input, most int64) string {
					if c.check(m, input, most) {
						return ""
					}
					return fmt.Sprintf("request %d: %d input tokens, at most %d of output, after %d and %d", m.requests, input, most, m.input, m.output)
				}}
				server := modelserver.New(t, m.answer)
				result := run(t, provider, server.URL, limit+": "+c.value)
				server.CheckAccepted(t)
				require.Empty(t, m.over)
				require.NotNil(t, result.Failure)
				require.Equal(t, execution.CodeUsageLimitExceeded, result.Failure.Code)
				require.Contains(t, result.Failure.Message, "limit reached: "+limit)
				require.Greater(t, m.requests, int64(2), "the limit leaves room for some requests")
				usage := result.Checkpoint.State.Usage
				require.Equal(t, m.requests, usage.Requests)
				require.Equal(t, m.input, usage.InputTokens)
				require.Equal(t, m.output, usage.OutputTokens)
				require.InDelta(t, cost(m.input, m.output), usage.CostMicros, float64(m.requests), "rounded up for each request")
				t.Logf("%d requests, %d + %d tokens, %d millionths: %s", m.requests, m.input, m.output, usage.CostMicros, result.Failure.Message)
			})
		}
	}
}

// run runs the agent in process.
func run(t *testing.T, provider, url, limit string) executor.Result {
	t.Helper()
	if provider == agent.ProviderOpenAI {
		url += "/v1"
	}
	file := strings.NewReplacer("$PROVIDER", provider, "$MODELS", url, "$LIMIT", limit).Replace(hungry)
	catalog, err := agent.Parse("agents.yaml", []byte(file))
	require.NoError(t, err)
	definition, _ := catalog.Agent("hungry")
	gpt, err := openai.New(openai.Config{})
	require.NoError(t, err)
	claude, err := anthropic.New(anthropic.Config{})
	require.NoError(t, err)
	builder, err := local.NewBuilder(local.BuilderConfig{
		Models: map[string]local.ModelFactory{agent.ProviderOpenAI: gpt.Factory, agent.ProviderAnthropic: claude.Factory},
		Tools: map[agent.ToolType]local.ToolFactory{
			agent.ToolHTTP: func(_ context.Context, _ *agent.Definition, declared agent.Tool, _ local.Lookup) (local.Tool, error) {
				return look{declared}, nil
			},
		},
	})
	require.NoError(t, err)
	direct, err := executor.NewDirect(executor.DirectConfig{Builder: builder})
	require.NoError(t, err)
	result, err := direct.Run(t.Context(), execution.NewID(1), definition, execution.CreateRequest{
		Agent: "hungry", Input: execution.Input{Type: execution.UserMessage, Text: "What is it?"},
	})
	require.NoError(t, err)
	return result
}

// look is a tool that always finds something.
type look struct{ declared agent.Tool }

// Spec implements local.Tool.
func (l look) Spec() local.ToolSpec {
	return local.ToolSpec{
		Name: l.declared.Name, Description: l.declared.Description, Parameters: l.declared.Parameters, Recovery: agent.ReadOnly,
	}
}

// Call implements local.Tool.
func (l look) Call(_ context.Context, call local.Invocation, _ local.Sink) (local.Answer, error) {
	result := execution.TextResult(call.Call, "Some of it. There is more on the next page.")
	return local.Answer{Result: &result}, nil
}
