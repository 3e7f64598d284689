package upgrade

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

const restTimeout = 60 * time.Second

// The files of a fixture.
const (
	dumpFile   = "redis.txt"
	agentsFile = "agents.yaml"
	scenesFile = "scenes.json"
)

// Scene is an execution of a fixture.
type Scene struct {
	Name  string          `json:"name"`
	ID    execution.ID    `json:"id"`
	State execution.State `json:"state"` // in which the fixture has it
	Node  string          `json:"node"`  // the boundary at which it stands
	// Do is what people do for it to come to its end: see people. Empty: nothing.
	Do string `json:"do,omitempty"`
	// End is the state that it comes to; Answer is its answer then, empty for any.
	End    execution.State `json:"end"`
	Answer string          `json:"answer,omitempty"`
}

// people are what can be done for an execution.
func people(t *testing.T, api *harness.API) map[string]func(execution.ID) {
	t.Helper()
	open := func(id execution.ID) execution.View {
		return api.AwaitState(id, restTimeout, execution.WaitingForInput)
	}
	return map[string]func(execution.ID){
		"reply":   func(id execution.ID) { api.Reply(open(id), "yes") },
		"approve": func(id execution.ID) { api.Decide(open(id), execution.Decision{Decision: execution.Approve}) },
		"draw": func(id execution.ID) {
			call := open(id).Interaction.Calls[0]
			api.Input(id, "draw", execution.Input{Type: execution.ToolResultInput, CallID: call.CallID, Result: []byte(`{"drawn":true}`)})
		},
		"resume": func(id execution.ID) { api.Resume(id) },
		"resume and reply": func(id execution.ID) {
			api.Resume(id)
			api.Reply(open(id), "yes")
		},
		"allow more": func(id execution.ID) {
			body := `{"limits": {"maxModelRequests": 5}}`
			answer, err := api.Do(t.Context(), http.MethodPost, "/v1/executions/"+string(id)+"/resume", nil, body)
			require.NoError(t, err)
			require.Equal(t, http.StatusAccepted, answer.Status, string(answer.Body))
		},
	}
}

// world is an installation, and what is around it: that which a fixture is written by, or one that goes on with it.
type world struct {
	*harness.Stack
	tools *harness.ToolServer
	addr  string // of the API
}

func newWorld(t *testing.T, agents, tag string, env map[string]string) *world {
	t.Helper()
	tools := harness.Tools(t)
	tools.Behave("/large", func(context.Context, harness.ToolCall) (int, string) {
		return http.StatusOK, `"` + strings.Repeat("A large result. ", 400) + `"`
	})
	at, err := url.Parse(tools.URL)
	require.NoError(t, err)
	addr := harness.FreeAddr(t)
	all := map[string]string{
		"TOOLS_PORT": at.Port(), "API_PORT": addr[strings.LastIndex(addr, ":")+1:], "PAWL_DELEGATION_STATIC_TOKEN": "a-token",
	}
	for name, value := range env {
		all[name] = value
	}
	return &world{Stack: harness.New(t, harness.Config{Agents: agents, Tag: tag, Env: all}), tools: tools, addr: addr}
}

func (w *world) api() *harness.API {
	return w.API(map[string]string{"PAWL_HTTP_ADDR": w.addr, "PAWL_A2A": "1"})
}
