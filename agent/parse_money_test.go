package agent_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
)

const pricedModels = `agents:
  priced:
    model:
      provider: openai
      name: large
      apiKey: "${A}"
      prices: {inputPer1M: 2.5, outputPer1M: 10, cachedInputPer1M: 0.25}
      fallback:
        - {provider: anthropic, name: other, apiKey: "${B}", structuredOutput: tool, prices: {inputPer1M: 3, outputPer1M: 15, currency: USD}}
    limits: {maxCost: 0.50}
`

func TestPricesAndFallbackAreRead(t *testing.T) {
	t.Parallel()
	catalog, err := agent.Parse("f.yaml", []byte(pricedModels))
	require.NoError(t, err)
	d, _ := catalog.Agent("priced")
	require.Equal(t, &agent.Prices{
		InputPer1M: 2_500_000, OutputPer1M: 10_000_000, CachedInputPer1M: 250_000, Currency: "USD",
	}, d.Model.Prices)
	require.Len(t, d.Model.Fallback, 1)
	require.Equal(t, "other", d.Model.Fallback[0].Name)
	require.Equal(t, int64(500_000), d.Limits.MaxCost)
	require.True(t, d.Model.Priced())
	require.True(t, d.Model.UsesOutputTool())
	read, err := agent.Decode(d.Canonical())
	require.NoError(t, err)
	require.Equal(t, d, read)

	for failed, want := range []string{"large", "other", "large", "other"} {
		chosen := d.Model.At(failed)
		require.Equal(t, want, chosen.Name)
		require.Empty(t, chosen.Fallback)
	}
}

func TestParseRefusesMoney(t *testing.T) {
	t.Parallel()
	const (
		before  = "agents:\n  demo:\n    model:\n      provider: openai\n      name: m\n      apiKey: \"${K}\"\n"
		prices  = before + "      prices: {inputPer1M: 1, outputPer1M: 2}\n"
		another = "      fallback:\n        - {provider: openai, name: n, apiKey: \"${K}\""
	)
	for name, c := range map[string]struct{ text, want string }{
		"a limit without prices": {
			before + "    limits: {maxCost: 1}\n",
			"f.yaml:7: agents.demo.limits.maxCost: needs the prices of every model that may be asked; agents.demo.model has none",
		},
		"a limit without a fallback's prices": {
			prices + another + "}\n    limits: {maxCost: 1}\n",
			"f.yaml:10: agents.demo.limits.maxCost: needs the prices of every model that may be asked; agents.demo.model.fallback[0] has none",
		},
		"a negative limit": {
			prices + "    limits: {maxCost: -1}\n", "f.yaml:8: agents.demo.limits.maxCost: must be a number such as 2.5",
		},
		"a price in words": {
			before + "      prices: {inputPer1M: much, outputPer1M: 2}\n",
			"f.yaml:7: agents.demo.model.prices.inputPer1M: must be a number such as 2.5, not text",
		},
		"half a price": {
			before + "      prices: {inputPer1M: 1}\n", "f.yaml:7: agents.demo.model.prices.outputPer1M: is required",
		},
		"a currency": {
			before + "      prices: {inputPer1M: 1, outputPer1M: 2, currency: euro}\n",
			"f.yaml:7: agents.demo.model.prices.currency: must be three capital letters",
		},
		"two currencies": {
			prices + another + ", prices: {inputPer1M: 1, outputPer1M: 2, currency: EUR}}\n",
			"agents.demo.model.fallback: agents.demo.model.fallback[0].prices is in EUR, another one in USD",
		},
		"an unknown price": {
			before + "      prices: {inputPer1M: 1, outputPer1M: 2, imagesPer1M: 3}\n", "prices.imagesPer1M: unknown key",
		},
		"a fallback's mistake": {
			prices + "      fallback: [{provider: openai, name: n}]\n",
			"f.yaml:8: agents.demo.model.fallback[0].apiKey: is required",
		},
		"a fallback's fallback": {
			prices + another + ", fallback: []}\n",
			"f.yaml:9: agents.demo.model.fallback[0].fallback: a model of a fallback list has none of its own",
		},
		"a tool of the answer's name": {
			before + "      structuredOutput: tool\n    tools:\n      - {name: final_answer, type: human, description: d, parameters: {type: object, properties: {question: {type: string}}}}\n",
			`agents.demo.tools[0].name: "final_answer" is the tool by which the agent's model gives its answer`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, c.text, c.want)
		})
	}
}
