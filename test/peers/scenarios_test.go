//go:build peers

package peers_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/test/harness"
	"github.com/pawl-run/pawl/test/scenario"
)

type object = map[string]any

// scenarioFixtures are the scenarios in aimock's words.
func scenarioFixtures(t *testing.T) string {
	t.Helper()
	fixtures := []object{{"match": object{"userMessage": scenario.Thanks}, "response": object{"content": scenario.Welcome}}}
	for _, s := range scenario.All() {
		var calls []object
		for _, call := range s.Calls {
			calls = append(calls, object{"name": call.Name, "arguments": json.RawMessage(call.Arguments)})
		}
		if calls != nil {
			fixtures = append(fixtures, object{
				"match": object{"userMessage": s.Says, "hasToolResult": false}, "response": object{"toolCalls": calls},
			})
		}
		if s.Answer != "" {
			fixtures = append(fixtures, object{
				"match": object{"userMessage": s.Says, "hasToolResult": calls != nil}, "response": object{"content": s.Answer},
			})
		}
	}
	data, err := json.Marshal(object{"fixtures": fixtures})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "scenarios.json")
	require.NoError(t, os.WriteFile(file, data, 0o600))
	return file
}

// echo makes mock-llm answer the one text that it plays.
const echo = `rules:
  - path: "/v1/chat/completions"
    match: "contains(body.messages[-1].content, 'Thank')"
    response:
      status: 200
      content: '{"id": "1", "object": "chat.completion", "choices": [{"message": {"role": "assistant", "content": "$WELCOME"}, "finish_reason": "stop"}]}'
`

// Case E4, against servers of others and on a real Redis. aimock plays every scenario in both wire formats; it matches
// requests and checks few of the rules, which test/modelserver does. mock-llm speaks OpenAI's format alone and streams no
// tool calls and no usage: it plays the second turn behind each of aimock's.
func TestCaseE4_TheScenariosAgainstPublishedModelServers(t *testing.T) {
	t.Parallel()
	fixtures := scenarioFixtures(t)
	mock := serve(t, "llmock", func(port string) []string {
		return []string{"--port", port, "--fixtures", fixtures, "--strict", "--validate-on-load"}
	})
	config := filepath.Join(t.TempDir(), "mock-llm.yaml")
	require.NoError(t, os.WriteFile(config, []byte(strings.ReplaceAll(echo, "$WELCOME", scenario.Welcome)), 0o600))
	second := serve(t, "mock-llm", func(string) []string { return []string{"--config", config} })
	tools := harness.Tools(t)
	scenario.Prepare(tools)
	file := "agents:" + scenario.Agent("openai", "openai", mock+"/v1") + scenario.Agent("anthropic", "anthropic", mock) +
		scenario.Agent("mockllm", "openai", second+"/v1")
	stack := harness.New(t, harness.Config{
		Agents: strings.ReplaceAll(file, "$TOOLS", tools.URL), Tag: "none", Env: map[string]string{"TEST_MODEL_KEY": "sk-test-key"},
	})
	api := stack.API()
	stack.Reaper()
	stack.Worker()
	for _, cast := range []struct{ name, first, second string }{
		{"aimock in OpenAI's format", "openai", "openai"},
		{"aimock in Anthropic's format", "anthropic", "anthropic"},
		{"aimock in Anthropic's format, then in OpenAI's", "anthropic", "openai"},
		{"aimock in OpenAI's format, then mock-llm, which streams no tool calls", "openai", "mockllm"},
	} {
		for _, s := range scenario.All() {
			t.Run(cast.name+": "+s.Name+", and a second turn", func(t *testing.T) {
				t.Parallel()
				s.Play(t, scenario.Cast{API: api.For(t), Tools: tools, Agent: cast.first, Second: cast.second})
			})
		}
	}
}
