package browser

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/auth"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// patience bounds every wait.
const patience = 30 * time.Second

// agents are what the executions of the tests run on.
const agents = `agents:
  support:
    model:
      provider: scripted
      turns:
        - text: "I look it up and refund it."
          toolCalls:
            - {name: lookup, arguments: {order: 7}}
            - {name: refund, arguments: {order: 7, amount: 129}}
        - {delay: 2500ms, text: "The order was looked up and the refund is on its way.", usage: {inputTokens: 812, outputTokens: 44}}
    instructions: You look after orders.
    tools:
      - {name: lookup, type: http, url: "$TOOLS/lookup", recovery: read_only}
      - {name: refund, type: http, url: "$TOOLS/refund", recovery: unsafe, approval: always}
  frugal:
    model:
      provider: scripted
      turns:
        - toolCalls: [{name: lookup, arguments: {order: 8}}]
        - text: "It was found."
    tools:
      - {name: lookup, type: http, url: "$TOOLS/lookup", recovery: read_only}
    limits: {maxModelRequests: 1, onExceeded: suspend}
  asker:
    model:
      provider: scripted
      turns:
        - toolCalls: [{name: confirm, arguments: {question: "Shall the parcel go to the neighbor?"}}]
        - text: "Done."
    tools:
      - {name: confirm, type: human}
  boss:
    model:
      provider: scripted
      turns:
        - toolCalls: [{name: ask, arguments: {prompt: "Where shall the parcel go?"}}]
        - text: "It is known."
    tools:
      - {name: ask, type: agent, agent: asker}
`

// world is an installation with something going on in it.
type world struct {
	stack  *harness.Stack
	api    *harness.API
	tools  *harness.ToolServer
	tenant string // a key of tenant default, role operate
	oncall string // a key of all tenants, role operate
}

// newWorld is an installation that works.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := idle(t)
	w.stack.Worker()
	w.stack.Reaper()
	return w
}

// idle is an installation without a worker: what is submitted stays in its queue. env is of its API.
func idle(t *testing.T, env ...map[string]string) *world {
	t.Helper()
	w := &world{tools: harness.Tools(t)}
	w.tools.Behave("/lookup", func(context.Context, harness.ToolCall) (int, string) {
		return http.StatusOK, `{"order": 7, "customer": "Ida", "items": [{"name": "lamp", "price": 129}]}`
	})
	w.tools.Behave("/refund", func(context.Context, harness.ToolCall) (int, string) { return http.StatusOK, `{"refunded": true}` })
	stack := harness.New(t, harness.Config{
		Tag: "none", Agents: strings.ReplaceAll(agents, "$TOOLS", w.tools.URL), Env: map[string]string{"PAWL_AUTH": "keys"},
	})
	w.stack, w.api = stack, stack.API(env...)
	keys, err := auth.NewKeys(stack.Redis, auth.KeysConfig{})
	require.NoError(t, err)
	key := func(tenant, subject string) string {
		_, text, err := keys.Create(t.Context(), auth.NewKey{Tenant: tenant, Subject: subject, Role: execution.OperateRole})
		require.NoError(t, err)
		return text
	}
	w.tenant, w.oncall = key("default", "ida"), key(execution.AllTenants, "on-call")
	return w
}

// submit submits an execution and waits until it is in the state.
func (w *world) submit(t *testing.T, agent, text string, state execution.State) execution.View {
	t.Helper()
	request := harness.Submission(agent, text)
	request.Metadata = map[string]string{"order": "7"}
	view := w.call(t, http.MethodPost, "/v1/executions", request)
	return w.await(t, view.ID, state)
}

func (w *world) await(t *testing.T, id execution.ID, state execution.State) (view execution.View) {
	t.Helper()
	harness.Eventually(t, patience, string(id)+" is "+string(state), func() bool {
		view = w.call(t, http.MethodGet, "/v1/executions/"+string(id), nil)
		return view.State == state
	})
	return view
}

func (w *world) call(t *testing.T, method, path string, body any) execution.View {
	t.Helper()
	answer, err := w.api.Do(t.Context(), method, path, map[string]string{"Authorization": "Bearer " + w.tenant}, body)
	require.NoError(t, err)
	require.Less(t, answer.Status, 300, string(answer.Body))
	view, err := answer.View()
	require.NoError(t, err)
	return view
}
