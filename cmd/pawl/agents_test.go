package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/app"
)

func agentFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agents.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

const declared = `agents:
  helper:
    model: {provider: openai, name: small, baseURL: "${PAWL_TEST_BASE}", apiKey: "${PAWL_TEST_KEY}"}
    tools:
      - {name: crm, type: mcp, url: "${PAWL_TEST_MCP}", trustHints: true}
      - {name: ask, type: human, description: asks, parameters: {type: object, properties: {question: {type: string}}}}
  demo:
    model: {provider: scripted, turns: [{text: hi}, {text: there}]}
`

func TestAgentsCheck_SaysWhatAFileHolds(t *testing.T) {
	t.Setenv("PAWL_TEST_KEY", "sk-secret")
	path := agentFile(t, declared)
	got := typeCommand(t, newFake(execution.View{}), false, nil, "agents", "check", path)
	require.Equal(t, result{out: path + `: 2 agents, no mistakes

demo
  model  scripted (2 turns)

helper
  model  openai small at ${PAWL_TEST_BASE}
  tool   crm: mcp ${PAWL_TEST_MCP}
  tool   ask: human

environment of whoever runs this command; workers take theirs
  PAWL_TEST_BASE  NOT SET  (agents.helper.model.baseURL)
  PAWL_TEST_KEY  set  (agents.helper.model.apiKey)
  PAWL_TEST_MCP  NOT SET  (agents.helper.tools[0].url)
`}, got)

	t.Setenv("PAWL_AGENTS", path)
	got = typeCommand(t, newFake(execution.View{}), false, nil, "agents", "check", "--json")
	require.Zero(t, got.code, got.err)
	var report app.AgentsReport
	require.NoError(t, json.Unmarshal([]byte(got.out), &report))
	require.True(t, report.OK)
	require.Len(t, report.Agents, 2)
	require.Len(t, report.Agents[0].Hash, 64)
	require.NotContains(t, got.out, "sk-secret")
}

func TestAgentsCheck_SaysWhatIsPublishedAndHowToolsAreKnown(t *testing.T) {
	t.Parallel()
	path := agentFile(t, `agents:
  helper:
    model: {provider: scripted, turns: [{text: hi}]}
    publish: {name: Trips, skills: [{id: book, name: Book, description: books}, {id: plan, name: Plan, description: plans}]}
    tools:
      - {name: files, type: http, url: "https://files.example.com/search", auth: delegation, recovery: read_only}
      - {name: pay, type: http, url: "https://pay.example.com", approval: {when: "arguments.amount > 100"}}
      - {name: disk, type: mcp, command: [disk], approval: always, approvals: {read: never, wipe: {when: "true"}}}
  plain:
    model: {provider: scripted, turns: [{text: hi}]}
    publish: {}
`)
	got := typeCommand(t, newFake(execution.View{}), false, nil, "agents", "check", path)
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.out, `
helper
  model  scripted (1 turn)
  shown  to other agents as Trips, skills book, plan
  tool   files: http read_only https://files.example.com/search, auth delegation
  tool   pay: http unsafe https://pay.example.com, approval when arguments.amount > 100
  tool   disk: mcp disk, approval always, approval of read never, approval of wipe when true

plain
  model  scripted (1 turn)
  shown  to other agents as plain
`)
	got = typeCommand(t, newFake(execution.View{}), false, nil, "agents", "check", "--json", path)
	var report app.AgentsReport
	require.NoError(t, json.Unmarshal([]byte(got.out), &report))
	require.Equal(t, &app.CheckedPublish{Name: "Trips", Skills: []string{"book", "plan"}}, report.Agents[0].Publish)
	require.Equal(t, agent.AuthDelegation, report.Agents[0].Tools[0].Auth)
	require.Equal(t, map[string]string{"read": "never", "wipe": "when true"}, report.Agents[0].Tools[2].Approvals)
	require.Equal(t, &app.CheckedPublish{Name: "plain"}, report.Agents[1].Publish)
	require.NotContains(t, got.out, `"skills": null`)
}

func TestAgentsCheck_TellsEveryMistake(t *testing.T) {
	t.Parallel()
	path := agentFile(t, "agents:\n  demo:\n    model: {provider: scripted}\n    color: red\n")
	got := typeCommand(t, newFake(execution.View{}), false, nil, "agents", "check", path)
	require.Equal(t, result{
		code: exitFailed,
		err: path + ":3: agents.demo.model.turns: the scripted model needs at least one turn\n" +
			path + ":4: agents.demo.color: unknown key; known are backend, instructions, limits, model, outputRetries, outputSchema, publish, queue, results, retention, tools\n",
	}, got)

	got = typeCommand(t, newFake(execution.View{}), false, nil, "agents", "check", "--json", path)
	require.Equal(t, exitFailed, got.code)
	var report app.AgentsReport
	require.NoError(t, json.Unmarshal([]byte(got.out), &report))
	require.Equal(t, app.AgentsProblem{
		File: path, Line: 3, Key: "agents.demo.model.turns", Message: "the scripted model needs at least one turn",
	}, report.Problems[0])

	got = typeCommand(t, newFake(execution.View{}), false, nil, "agents", "check", path+".absent")
	require.Equal(t, exitNoAnswer, got.code)
	require.Contains(t, got.err, "no such file")
}

func TestAgentsCheck_ProbesServersAndModels(t *testing.T) {
	var status int
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "Bearer sk-secret" {
			status = http.StatusTeapot
		}
		w.WriteHeader(status)
	}))
	defer model.Close()
	tools := mcp.NewServer(&mcp.Implementation{Name: "crm", Version: "1"}, nil)
	tools.AddTool(&mcp.Tool{
		Name: "find", InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		t.Error("a probe calls no tool")
		return &mcp.CallToolResult{}, nil
	})
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return tools }, nil))
	defer server.Close()
	t.Setenv("PAWL_TEST_KEY", "sk-secret")
	t.Setenv("PAWL_TEST_BASE", model.URL+"/v1")
	t.Setenv("PAWL_TEST_MCP", server.URL)
	path := agentFile(t, declared)

	status = http.StatusOK
	got := typeCommand(t, newFake(execution.View{}), false, nil, "agents", "check", "--probe", path)
	require.Zero(t, got.code, got.out)
	require.Contains(t, got.out, "[the endpoint answers (200), ")
	require.Contains(t, got.out, "[it gives 1 tool, ")
	require.Contains(t, got.out, "- crm_find read_only")

	status = http.StatusUnauthorized
	server.CloseClientConnections()
	server.Close()
	got = typeCommand(t, newFake(execution.View{}), false, nil, "agents", "check", "--probe", "--timeout", "2s", path)
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.out, "[FAILED: the endpoint refuses the key (401)]")
	require.Contains(t, got.out, "[FAILED: the MCP server of crm is not available: cannot open it: ")
	require.NotContains(t, got.out, "sk-secret")
	require.NotContains(t, got.out, server.URL)

	model.Close()
	got = typeCommand(t, newFake(execution.View{}), false, nil, "agents", "check", "--probe", "--timeout", "2s", path)
	require.Contains(t, got.out, "[FAILED: the endpoint cannot be reached: dial: ")
	require.NotContains(t, got.out, model.URL)
}

func TestAgentsCheck_DoesNotAskAServerThatTakesACaller(t *testing.T) {
	t.Parallel()
	asked := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it is not asked") }))
	defer asked.Close()
	path := agentFile(t, "agents:\n  demo:\n    model: {provider: scripted, turns: [{text: hi}]}\n    tools:\n"+
		"      - {name: drive, type: mcp, url: \""+asked.URL+"\", auth: delegation}\n")
	got := typeCommand(t, newFake(execution.View{}), false, nil, "agents", "check", "--probe", path)
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.out, "[not asked: it is reached with the tokens of executions, ")
	require.Contains(t, got.out, "auth delegation")
}

func TestAgentsSchema_PrintsTheSchema(t *testing.T) {
	t.Parallel()
	got := typeCommand(t, newFake(execution.View{}), false, nil, "agents", "schema")
	require.Equal(t, result{out: string(agent.FileSchema())}, got)
}

func TestAgentsCheck_WantsAFile(t *testing.T) {
	t.Setenv("PAWL_AGENTS", "")
	got := typeCommand(t, newFake(execution.View{}), false, nil, "agents", "check")
	require.Equal(t, exitUsage, got.code)
	require.Contains(t, got.err, "PAWL_AGENTS")
}
