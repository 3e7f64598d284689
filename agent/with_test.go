package agent_test

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
)

// overridable is a definition with everything that an override may touch.
func overridable() *agent.Definition {
	prices := &agent.Prices{InputPer1M: 1, OutputPer1M: 2}
	return &agent.Definition{
		Name: "demo", Backend: "local", Instructions: "Book trips.",
		Model: agent.Model{
			Provider: agent.ProviderOpenAI, Name: "large", APIKey: "${A}", Prices: prices,
			Fallback: []agent.Model{
				{Provider: agent.ProviderAnthropic, Name: "other", APIKey: "${B}", Prices: prices},
				{Provider: agent.ProviderOpenAI, Name: "small", APIKey: "${A}"},
			},
		},
		Tools: []agent.Tool{{Name: "lookup", Type: agent.ToolHTTP}, {Name: "files", Type: agent.ToolMCP}},
	}
}

func TestWithOverridesADefinition(t *testing.T) {
	t.Parallel()
	half := 0.5
	made, err := overridable().With(execution.Overrides{
		Model: "another", Instructions: "Be brief.", Generation: &execution.Generation{MaxOutputTokens: 9, Temperature: &half},
		OutputSchema: json.RawMessage(`{ "type": "object" }`),
		FrontendTools: []execution.FrontendTool{
			{Name: "pick", Description: "Lets the user pick.", Parameters: json.RawMessage(`{"type":"object"}`)},
		},
	})
	require.NoError(t, err)
	require.Equal(t, "another", made.Model.Name)
	require.Equal(t, "${A}", made.Model.APIKey)
	require.Nil(t, made.Model.Prices, "they are another model's")
	require.Equal(t, "Be brief.", made.Instructions)
	require.Equal(t, int64(9), made.Model.MaxOutputTokens)
	require.Equal(t, &half, made.Model.Temperature)
	require.Equal(t, int64(9), made.Model.Fallback[0].MaxOutputTokens)
	require.Nil(t, made.Model.Fallback[0].Temperature, "the provider has none")
	require.Equal(t, &half, made.Model.Fallback[1].Temperature)
	require.JSONEq(t, `{"type":"object"}`, string(made.OutputSchema))
	require.Len(t, made.Tools, 3)
	require.Equal(t, agent.ToolClient, made.Tools[2].Type)

	of, err := overridable().With(execution.Overrides{Model: "other"})
	require.NoError(t, err)
	require.Equal(t, agent.ProviderAnthropic, of.Model.Provider, "what the fallback list says of it")
	require.NotNil(t, of.Model.Prices)
	require.Len(t, of.Model.Fallback, 1)

	none := overridable()
	same, err := none.With(execution.Overrides{})
	require.NoError(t, err)
	require.Same(t, none, same)
}

func TestWithRefusesByField(t *testing.T) {
	t.Parallel()
	object := json.RawMessage(`{"type":"object"}`)
	tool := func(name string) []execution.FrontendTool {
		return []execution.FrontendTool{{Name: name, Description: "d", Parameters: object}}
	}
	for field, o := range map[string]execution.Overrides{
		"outputSchema":           {OutputSchema: json.RawMessage(`[]`)},
		"generation.topP":        {Generation: &execution.Generation{TopP: new(float64)}, Model: "other"},
		"generation.temperature": {Generation: &execution.Generation{Temperature: ptr(math.NaN())}},
		"frontendTools[0].name":  {FrontendTools: tool("lookup")},
		"frontendTools[1].name":  {FrontendTools: append(tool("a"), tool("a")...)},
		"frontendTools[0].parameters": {FrontendTools: []execution.FrontendTool{
			{Name: "a", Description: "d", Parameters: json.RawMessage(`{"type":"string"}`)},
		}},
		"frontendTools[0].description": {FrontendTools: []execution.FrontendTool{{Name: "a", Parameters: object}}},
	} {
		_, err := overridable().With(o)
		var refused *agent.OverrideError
		require.True(t, errors.As(err, &refused), field)
		require.Equal(t, field, refused.Field)
	}
	for _, name := range []string{"files_read", "two words", ""} {
		_, err := overridable().With(execution.Overrides{FrontendTools: tool(name)})
		require.ErrorContains(t, err, "frontendTools[0].name", name)
	}
	answering := overridable()
	answering.Model.StructuredOutput = agent.StructuredTool
	_, err := answering.With(execution.Overrides{FrontendTools: tool(agent.FinalAnswer)})
	require.ErrorContains(t, err, "gives its answer")
}

func ptr[T any](v T) *T { return &v }

// Overrides make a definition that can be stored, and leave the one they are put on as it was.
func TestWithKeepsTheDefinition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		declared := overridable()
		before := declared.Hash()
		o := execution.Overrides{
			Model:        rapid.SampledFrom([]string{"", "large", "other", "small", "new"}).Draw(rt, "model"),
			Instructions: rapid.SampledFrom([]string{"", "x"}).Draw(rt, "instructions"),
		}
		if rapid.Bool().Draw(rt, "generation") {
			o.Generation = &execution.Generation{MaxOutputTokens: rapid.Int64Range(0, 9).Draw(rt, "tokens")}
		}
		if rapid.Bool().Draw(rt, "tool") {
			o.FrontendTools = []execution.FrontendTool{{Name: "a", Description: "d", Parameters: json.RawMessage(`{"type":"object"}`)}}
		}
		made, err := declared.With(o)
		require.NoError(rt, err)
		require.Equal(rt, before, declared.Hash())
		read, err := agent.Decode(made.Canonical())
		require.NoError(rt, err)
		require.Equal(rt, made.Hash(), read.Hash())
		again, err := read.With(execution.Overrides{})
		require.NoError(rt, err)
		require.Equal(rt, made.Hash(), again.Hash())
	})
}

func TestCostRoundsUp(t *testing.T) {
	t.Parallel()
	p := &agent.Prices{InputPer1M: 2_500_000, OutputPer1M: 10_000_000, CachedInputPer1M: 250_000}
	require.Equal(t, int64(3), p.Cost(execution.Usage{InputTokens: 1}), "2.5 millionths are 3")
	require.Equal(t, int64(10), p.Cost(execution.Usage{OutputTokens: 1}))
	require.Equal(t, int64(2_500_000+10_000_000), p.Cost(execution.Usage{InputTokens: 1e6, OutputTokens: 1e6}))
	require.Equal(t, int64(250_000), p.Cost(execution.Usage{InputTokens: 1e6, CacheReadTokens: 1e6}))
	require.Equal(t, int64(math.MaxInt64), p.Cost(execution.Usage{InputTokens: math.MaxInt64}))
	require.Zero(t, (*agent.Prices)(nil).Cost(execution.Usage{InputTokens: 5}))
}

// What a budget pays for costs no more than the budget, and one token more would.
func TestAffordableIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		p := &agent.Prices{
			InputPer1M:       rapid.Int64Range(0, 1e9).Draw(rt, "input price"),
			OutputPer1M:      rapid.Int64Range(1, 1e9).Draw(rt, "output price"),
			CachedInputPer1M: rapid.Int64Range(0, 1e9).Draw(rt, "cached price"),
		}
		budget, input := rapid.Int64Range(0, 1e12).Draw(rt, "budget"), rapid.Int64Range(0, 1e9).Draw(rt, "input")
		cached := rapid.Int64Range(0, input).Draw(rt, "cached")
		output := p.Affordable(budget, input)
		if output < 0 {
			return
		}
		cost := p.Cost(execution.Usage{InputTokens: input, CacheReadTokens: cached, OutputTokens: output})
		require.LessOrEqual(rt, cost, budget)
	})
}
