package agent_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
)

const realModels = `agents:
  chat:
    model: {provider: openai, name: some-model, baseURL: "${LLM_URL}", apiKey: "${LLM_KEY}", timeout: 30s, maxOutputTokens: 500,
      temperature: 0.5, topP: 1, structuredOutput: json}
  plain:
    model: {provider: anthropic, name: other-model, apiKey: "${ANTHROPIC_API_KEY}"}
  keyless:
    model: {provider: openai, name: local, baseURL: "http://127.0.0.1:11434/v1"}
`

func TestRealModelsAreRead(t *testing.T) {
	t.Parallel()
	catalog, err := agent.Parse("agents.yaml", []byte(realModels))
	require.NoError(t, err)
	half, one := 0.5, 1.0
	chat, _ := catalog.Agent("chat")
	require.Equal(t, agent.Model{
		Provider: "openai", Name: "some-model", BaseURL: "${LLM_URL}", APIKey: "${LLM_KEY}", Timeout: 30 * time.Second,
		MaxOutputTokens: 500, Temperature: &half, TopP: &one, StructuredOutput: agent.StructuredJSON,
	}, chat.Model)
	plain, _ := catalog.Agent("plain")
	require.Equal(t, agent.Model{
		Provider: "anthropic", Name: "other-model", APIKey: "${ANTHROPIC_API_KEY}", Timeout: 10 * time.Minute,
		StructuredOutput: agent.StructuredSchema,
	}, plain.Model)
	keyless, _ := catalog.Agent("keyless")
	require.Empty(t, keyless.Model.APIKey)

	read, err := agent.Decode(chat.Canonical())
	require.NoError(t, err)
	require.Equal(t, chat, read)
	require.Equal(t, "53fa9254bbba5c699d3a3b7c865345a66952ac01cef2fcd3a8a782b6f3b2e7c4", plain.Hash())
	require.Equal(t, `{"backend":"local","model":{"apiKey":"${ANTHROPIC_API_KEY}","name":"other-model","provider":"anthropic","structuredOutput":"schema","timeout":600000000000},"name":"plain","outputRetries":1}`, string(plain.Canonical()))
}

func TestParseRefusesModels(t *testing.T) {
	t.Parallel()
	const before = "agents:\n  demo:\n    model: {provider: openai, name: m, "
	for name, c := range map[string]struct{ text, want string }{
		"no name":           {"agents:\n  demo:\n    model: {provider: openai, apiKey: \"${K}\"}\n", "f.yaml:3: agents.demo.model.name: is required"},
		"no key":            {"agents:\n  demo:\n    model: {provider: anthropic, name: m}\n", "f.yaml:3: agents.demo.model.apiKey: is required, unless baseURL names a server that wants none"},
		"key itself":        {before + "apiKey: secret}\n", "f.yaml:3: agents.demo.model.apiKey: must be a reference such as ${OPENAI_API_KEY}: agent files and definitions are stored"},
		"key in part":       {before + "apiKey: \"secret${K}\"}\n", "apiKey: must be a reference such as"},
		"base URL":          {before + "apiKey: \"${K}\", baseURL: \"llm.example/v1\"}\n", "f.yaml:3: agents.demo.model.baseURL: must be an absolute http or https URL"},
		"query":             {before + "apiKey: \"${K}\", baseURL: \"https://llm.example/v1?api-version=1\"}\n", "baseURL: must not have a ? part"},
		"turns":             {before + "apiKey: \"${K}\", turns: []}\n", "model.turns: does not belong here: only the scripted model has them"},
		"unknown":           {before + "apiKey: \"${K}\", topK: 1}\n", "model.topK: unknown key; known are apiKey, baseURL, fallback, images, maxOutputTokens, name, prices, provider, structuredOutput, temperature, timeout, topP"},
		"no output":         {before + "apiKey: \"${K}\", maxOutputTokens: 0}\n", "model.maxOutputTokens: must be a whole number greater than 0"},
		"hot":               {before + "apiKey: \"${K}\", temperature: 2.1}\n", "model.temperature: must be a number from 0 to 2"},
		"cold":              {before + "apiKey: \"${K}\", topP: -0.1}\n", "model.topP: must be a number from 0 to 1"},
		"warm":              {before + "apiKey: \"${K}\", temperature: warm}\n", "model.temperature: must be a number, not text"},
		"structured":        {before + "apiKey: \"${K}\", structuredOutput: xml}\n", "model.structuredOutput: must be one of schema, off, tool, json"},
		"anthropic heat":    {"agents:\n  demo:\n    model: {provider: anthropic, name: m, apiKey: \"${K}\", temperature: 1}\n", "model.temperature: does not belong here: anthropic has none"},
		"scripted name":     {"agents:\n  demo:\n    model: {provider: scripted, name: m, turns: [{text: a}]}\n", "model.name: does not belong here: the scripted model has none"},
		"tool without docs": {before + "apiKey: \"${K}\"}\n    tools:\n      - {name: a, type: http, url: \"http://h/\"}\n", "f.yaml:5: agents.demo.tools[0].description: is required: it is what the model knows of the tool"},
		"human without": {
			before + "apiKey: \"${K}\"}\n    tools:\n      - {name: a, type: human, description: asks}\n",
			"f.yaml:5: agents.demo.tools[0].parameters: is required: it is what the model knows of the tool",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, c.text, c.want)
		})
	}
}
