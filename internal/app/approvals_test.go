package app

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/execution"
)

// later is an agent whose tool answers later, and whose client brings a tool of its own.
const later = `
  later:
    model:
      provider: scripted
      turns:
        - toolCalls: [{name: report, arguments: {}}, {name: scroll, arguments: {to: 7}}, {name: scroll, arguments: {to: 9}}]
        - text: "Reported."
    tools:
      - {name: report, type: http, url: "$TOOL"}
`

// counting is a tool's server that remembers the bodies it got.
type counting struct {
	mu     sync.Mutex
	bodies []string
}

func (c *counting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	c.bodies = append(c.bodies, string(body))
	c.mu.Unlock()
	if strings.HasSuffix(r.URL.Path, "/report") {
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, `{"deferred": true, "expiresAfterMs": 3600000}`)
		return
	}
	demoLookup(w, httptest.NewRequest(http.MethodPost, r.URL.Path, strings.NewReader(string(body))))
}

func (c *counting) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bodies
}

// startExample runs `pawl dev` with the example of approvals and the agent later, both on a counting tool server.
func startExample(t *testing.T) (*client.Client, *counting) {
	t.Helper()
	tool := &counting{}
	server := httptest.NewServer(tool)
	t.Cleanup(server.Close)
	text, err := os.ReadFile("../../examples/approvals/agents.yaml")
	require.NoError(t, err)
	example := strings.ReplaceAll(string(text), "http://127.0.0.1:8080/demo/lookup", server.URL+"/lookup")
	require.NotEqual(t, string(text), example)
	file := filepath.Join(t.TempDir(), "agents.yaml")
	example += strings.ReplaceAll(later, "$TOOL", server.URL+"/report")
	require.NoError(t, os.WriteFile(file, []byte(example), 0o600))
	_, err = agent.Load(file)
	require.NoError(t, err)
	cfg := devConfig(filepath.Join(t.TempDir(), ".pawl"))
	cfg.AgentsFile = file
	api, _, stop := startDev(t, cfg)
	t.Cleanup(stop)
	return api, tool
}

func submitTo(t *testing.T, api *client.Client, request execution.CreateRequest) execution.ID {
	t.Helper()
	request.Input = execution.Input{Type: execution.UserMessage, Text: "Please."}
	created, err := api.Create(t.Context(), "", request)
	require.NoError(t, err)
	return created.View.ID
}

func TestExampleOfApprovals(t *testing.T) {
	t.Parallel()
	api, tool := startExample(t)
	id := submitTo(t, api, execution.CreateRequest{Agent: "desk"})
	view := awaitState(t, api, id, execution.WaitingForInput)
	require.Equal(t, execution.Approval, view.Interaction.Kind)
	require.Len(t, view.Interaction.Calls, 1)
	require.NotZero(t, view.Interaction.ExpiresAtMs)
	require.Len(t, tool.all(), 1, "the city that needs no approval")
	call := view.Interaction.Calls[0]
	view, err := api.SubmitInput(t.Context(), id, execution.SubmitInput{OperationID: "op-1", Input: execution.Input{
		Type: execution.ToolApproval, RequestID: view.Interaction.RequestID, Decisions: []execution.Decision{{
			CallID: call.CallID, Decision: execution.Edit, Arguments: json.RawMessage(`{"city": "Tromsø"}`), ArgumentsHash: call.ArgumentsHash,
		}},
	}})
	require.NoError(t, err)
	_, err = api.SubmitInput(t.Context(), id, execution.SubmitInput{OperationID: "op-2", Input: execution.Input{
		Type: execution.ToolResultInput, CallID: "call_0_0", Result: json.RawMessage(`{"lat": 59.9}`),
	}})
	require.NoError(t, err, "a result that comes before it is waited for is held until it is; state was %s", view.State)
	require.Equal(t, "Two flights found.", awaitState(t, api, id, execution.Completed).Outcome.Answer)
	require.Len(t, tool.all(), 2)
	require.Contains(t, tool.all()[1], "Tromsø")
}

func TestResultsThatComeLaterAndToolsOfTheSubmission(t *testing.T) {
	t.Parallel()
	api, tool := startExample(t)
	id := submitTo(t, api, execution.CreateRequest{Agent: "later", Overrides: execution.Overrides{
		FrontendTools: []execution.FrontendTool{{
			Name: "scroll", Description: "Scrolls.", Parameters: json.RawMessage(`{"type":"object","required":["to"]}`),
		}},
	}})
	view := awaitState(t, api, id, execution.WaitingForInput)
	require.Equal(t, execution.ClientToolResult, view.Interaction.Kind)
	require.Len(t, view.Interaction.Calls, 3, "what the application owes, and what the tool does")
	require.NotZero(t, view.Interaction.ExpiresAtMs)
	var posted sync.WaitGroup
	for _, call := range view.Interaction.Calls { // all at once, each by itself
		posted.Go(func() {
			_, err := api.SubmitInput(t.Context(), id, execution.SubmitInput{
				OperationID: execution.OperationID("result-" + call.CallID), Input: execution.Input{
					Type: execution.ToolResultInput, RequestID: view.Interaction.RequestID, CallID: call.CallID,
					Result: json.RawMessage(`{"done": true}`),
				},
			})
			if err != nil {
				t.Errorf("%s: %v", call.CallID, err)
			}
		})
	}
	posted.Wait()
	view = awaitState(t, api, id, execution.Completed)
	require.Equal(t, "Reported.", view.Outcome.Answer)
	require.Equal(t, int64(3), view.Usage.ToolCalls)
	require.Len(t, tool.all(), 1, "what was deferred is not sent again")
}
