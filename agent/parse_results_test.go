package agent_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
)

func TestParseResults(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]agent.Results{
		"":                             {},
		"    results: {}\n":            {Over: agent.OverRefuse, Limit: 256 << 10},
		"    results: {over: store}\n": {Over: agent.OverStore, Limit: 256 << 10},
		"    results: {over: truncate, limit: 1MiB}\n": {Over: agent.OverTruncate, Limit: 1 << 20},
		"    results: {limit: 4096}\n":                 {Over: agent.OverRefuse, Limit: 4096},
		"    results: {limit: 8 KiB}\n":                {Over: agent.OverRefuse, Limit: 8 << 10},
	} {
		catalog, err := agent.Parse("f.yaml", []byte(modelLines+text))
		require.NoError(t, err, text)
		definition, _ := catalog.Agent("demo")
		require.Equal(t, want, definition.Results, text)
	}
	require.Equal(t, agent.Results{Over: agent.OverRefuse, Limit: 262144}, agent.Results{}.WithDefaults())
}

func TestParseRefusesResults(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"results: 5":                          "f.yaml:4: agents.demo.results: must be a mapping, not a number",
		"results: {over: drop}":               `f.yaml:4: agents.demo.results.over: must be one of refuse, truncate, store, not "drop"`,
		"results: {limit: 1023}":              "f.yaml:4: agents.demo.results.limit: must be from 1KiB to 8MiB",
		"results: {limit: 9MiB}":              "f.yaml:4: agents.demo.results.limit: must be from 1KiB to 8MiB",
		"results: {limit: 1.5KiB}":            "f.yaml:4: agents.demo.results.limit: must be a size such as 4096, 256KiB or 1MiB",
		"results: {limit: 99999999999999GiB}": "f.yaml:4: agents.demo.results.limit: must be a size such as",
		"results: {limit: [1]}":               "f.yaml:4: agents.demo.results.limit: must be a size such as 4096, 256KiB or 1MiB, not a list",
		"results: {max: 1}":                   "f.yaml:4: agents.demo.results.max: unknown key; known are limit, over",
	} {
		refused(t, modelLines+"    "+text+"\n", want)
	}
}

func TestParseImages(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"": false, ", images: true": false, ", images: false": true} {
		for _, model := range []string{"provider: scripted, turns: [{text: hi}]", "provider: openai, name: m, baseURL: \"http://127.0.0.1:1/v1\""} {
			catalog, err := agent.Parse("f.yaml", []byte("agents:\n  demo:\n    model: {"+model+text+"}\n"))
			require.NoError(t, err)
			definition, _ := catalog.Agent("demo")
			require.Equal(t, want, definition.Model.NoImages)
		}
	}
	refused(t, "agents:\n  demo:\n    model: {provider: scripted, turns: [{text: hi}], images: some}\n",
		"f.yaml:3: agents.demo.model.images: must be true or false, not text")
}

func TestParseThinking(t *testing.T) {
	t.Parallel()
	file := func(provider, more string) string {
		return "agents:\n  demo:\n    model: {provider: " + provider + ", name: m, baseURL: \"http://127.0.0.1:1\"" + more + "}\n"
	}
	catalog, err := agent.Parse("f.yaml", []byte(file("anthropic", ", thinking: {budgetTokens: 2048}, maxOutputTokens: 4096")))
	require.NoError(t, err)
	definition, _ := catalog.Agent("demo")
	require.EqualValues(t, 2048, definition.Model.ThinkingTokens)
	for more, want := range map[string]string{
		", thinking: {}":                                          "f.yaml:3: agents.demo.model.thinking.budgetTokens: is required",
		", thinking: {budgetTokens: 1023}":                        "f.yaml:3: agents.demo.model.thinking.budgetTokens: must be at least 1024",
		", thinking: {budgetTokens: 2000}, maxOutputTokens: 2000": "must be less than maxOutputTokens",
		", thinking: {budgetTokens: 2000, effort: high}":          "f.yaml:3: agents.demo.model.thinking.effort: unknown key; known are budgetTokens",
		", thinking: true":                                        "f.yaml:3: agents.demo.model.thinking: must be a mapping",
	} {
		refused(t, file("anthropic", more), want)
	}
	refused(t, file("openai", ", thinking: {budgetTokens: 2048}"), "f.yaml:3: agents.demo.model.thinking: does not belong here: only anthropic has it")
}
