package agent_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
)

const complete = `
agents:
  full:
    backend: local
    model:
      provider: scripted
      timeout: 10m
      turns:
        - delay: 200ms
          text: "a <b>"
          usage: {inputTokens: 10, outputTokens: 5}
        - {error: {status: 429, retryAfter: 2s}}
        - toolCalls: [{name: pay, arguments: {amount: 1.50, big: 9007199254740993}}, {name: ask}]
    instructions: |
      You pay.
      Twice.
    tools:
      - name: pay
        type: http
        url: "https://pay.example/${PATH_PART}"
        headers: {Authorization: "Bearer ${TOKEN}"}
        description: Pays.
        parameters: &object
          type: object
          properties: {question: {type: string}, amount: {type: number}}
        timeout: 5s
        recovery: reconcile
        onUnknown: fail
        probe: {url: "https://pay.example/status"}
        maxRetries: 0
      - {name: ask, type: human, expiresAfter: 24h, onExpiry: suspend, parameters: *object}
    limits: {maxTurns: 1, maxModelRequests: 2, maxToolCalls: 3, maxInputTokens: 4, maxOutputTokens: 5, maxTotalTokens: 6,
             deadline: 24h, onExceeded: suspend}
    outputSchema: {type: object, required: [total]}
    outputRetries: 3
    queue: slow_1
  small:
    model: {provider: scripted, turns: [{text: hello}]}
    tools:
      - {name: lookup, type: http, url: "http://127.0.0.1:9000/lookup"}
      - {name: ask, type: human}
`

func TestParseReadsEveryKey(t *testing.T) {
	t.Parallel()
	catalog, err := agent.Parse("agents.yaml", []byte(complete))
	require.NoError(t, err)
	require.Equal(t, []string{"full", "small"}, catalog.Names())
	got, ok := catalog.Agent("full")
	require.True(t, ok)
	schema := json.RawMessage(`{"properties":{"amount":{"type":"number"},"question":{"type":"string"}},"type":"object"}`)
	require.Equal(t, &agent.Definition{
		Name: "full", Backend: "local", Instructions: "You pay.\nTwice.\n", Queue: "slow_1",
		Model: agent.Model{Provider: "scripted", Timeout: 10 * time.Minute, Turns: []agent.ScriptedTurn{
			{Delay: 200 * time.Millisecond, Text: "a <b>", Usage: &agent.ScriptedUsage{InputTokens: 10, OutputTokens: 5}},
			{Error: &agent.ScriptedError{Status: 429, RetryAfter: 2 * time.Second}},
			{ToolCalls: []agent.ScriptedToolCall{
				{Name: "pay", Arguments: json.RawMessage(`{"amount":1.5,"big":9007199254740993}`)},
				{Name: "ask", Arguments: json.RawMessage(`{}`)},
			}},
		}},
		Tools: []agent.Tool{
			{
				Name: "pay", Type: agent.ToolHTTP, URL: "https://pay.example/${PATH_PART}",
				Headers: map[string]string{"Authorization": "Bearer ${TOKEN}"}, Description: "Pays.", Parameters: schema,
				Timeout: 5 * time.Second, Recovery: agent.Reconcile, OnUnknown: agent.UnknownFail,
				Probe: &agent.Probe{URL: "https://pay.example/status"},
			},
			{
				Name: "ask", Type: agent.ToolHuman, Parameters: schema, MaxRetries: 1,
				ExpiresAfter: 24 * time.Hour, OnExpiry: execution.ExpireSuspend,
			},
		},
		Limits: execution.Limits{
			MaxTurns: 1, MaxModelRequests: 2, MaxToolCalls: 3, MaxInputTokens: 4, MaxOutputTokens: 5, MaxTotalTokens: 6,
			Deadline: 24 * time.Hour, SuspendOnExceeded: true,
		},
		OutputSchema: json.RawMessage(`{"required":["total"],"type":"object"}`), OutputRetries: 3,
	}, got)
}

func TestParseFillsInDefaults(t *testing.T) {
	t.Parallel()
	catalog, err := agent.Parse("agents.yaml", []byte(complete))
	require.NoError(t, err)
	small, ok := catalog.Agent("small")
	require.True(t, ok)
	require.Equal(t, "local", small.Backend)
	require.Equal(t, 1, small.OutputRetries)
	require.Equal(t, []agent.Tool{
		{
			Name: "lookup", Type: agent.ToolHTTP, URL: "http://127.0.0.1:9000/lookup", Timeout: time.Minute,
			Recovery: agent.Unsafe, OnUnknown: agent.UnknownAsk, MaxRetries: 1,
		},
		{Name: "ask", Type: agent.ToolHuman, MaxRetries: 1},
	}, small.Tools)
	_, ok = catalog.Agent("absent")
	require.False(t, ok)
}

func TestParseReportsEveryMistakeInOrder(t *testing.T) {
	t.Parallel()
	_, err := agent.Parse("agents.yaml", []byte(`agents:
  demo:
    model: {provider: scripted}
    tools:
      - name: a
        type: http
        url: ftp://x
        recovery: reconcile
    limits:
      maxTurns: -1
    color: red
`))
	require.EqualError(t, err, strings.Join([]string{
		"agents.yaml:3: agents.demo.model.turns: the scripted model needs at least one turn",
		"agents.yaml:5: agents.demo.tools[0].probe: is required by recovery: reconcile",
		"agents.yaml:7: agents.demo.tools[0].url: must be an absolute http or https URL",
		"agents.yaml:10: agents.demo.limits.maxTurns: must not be negative",
		"agents.yaml:11: agents.demo.color: unknown key; known are backend, instructions, limits, model, outputRetries, outputSchema, publish, queue, results, retention, tools",
	}, "\n"))
	var file *agent.FileError
	require.ErrorAs(t, err, &file)
	require.Len(t, file.Problems, 5)
}

func TestParseBoundsWhatItReports(t *testing.T) {
	t.Parallel()
	text := "agents:\n  demo:\n    model: {provider: scripted, turns: [{text: x}]}\n    tools:\n" + strings.Repeat("      - 1\n", 200)
	_, err := agent.Parse("agents.yaml", []byte(text))
	var file *agent.FileError
	require.ErrorAs(t, err, &file)
	require.Len(t, file.Problems, 50)
	require.Equal(t, 150, file.More)
	require.ErrorContains(t, err, "and 150 more")
}

func TestLoadNamesTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "team.yaml")
	require.NoError(t, os.WriteFile(path, []byte("agents: {}\n"), 0o600))
	_, err := agent.Load(path)
	require.EqualError(t, err, "team.yaml:1: agents: must name at least one agent")
	_, err = agent.Load(path + ".absent")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestDemoAgentIsTheExample(t *testing.T) {
	t.Parallel()
	example, err := os.ReadFile("../examples/demo/agents.yaml")
	require.NoError(t, err)
	require.Equal(t, string(agent.Demo(agent.DemoLookupURL)), string(example))

	catalog, err := agent.Load("../examples/demo/agents.yaml")
	require.NoError(t, err)
	demo, ok := catalog.Agent("demo")
	require.True(t, ok)
	require.Equal(t, agent.DemoLookupURL, demo.Tools[0].URL)
	require.Equal(t, agent.Idempotent, demo.Tools[0].Recovery)
	require.Len(t, demo.Model.Turns, 2)

	moved, err := agent.Parse("demo", agent.Demo("http://127.0.0.1:1/x?a=b&c=\"d\""))
	require.NoError(t, err)
	demo, _ = moved.Agent("demo")
	require.Equal(t, "http://127.0.0.1:1/x?a=b&c=\"d\"", demo.Tools[0].URL)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(complete))
	f.Add(agent.Demo(agent.DemoLookupURL))
	f.Add([]byte("agents: {a: &x {b: *x}}"))
	f.Add([]byte("- - - {a: ]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		catalog, err := agent.Parse("agents.yaml", data)
		if err != nil {
			return
		}
		for _, name := range catalog.Names() {
			definition, _ := catalog.Agent(name)
			read, err := agent.Decode(definition.Canonical())
			require.NoError(t, err)
			require.Equal(t, definition.Hash(), read.Hash())
		}
	})
}
