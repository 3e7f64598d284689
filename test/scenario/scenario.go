package scenario

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
	"github.com/pawl-run/pawl/test/modelserver"
)

const endTimeout = 30 * time.Second

// Tools are the tools of an agent that plays the scenarios, for a tool server at $TOOLS.
const Tools = `
      - {name: weather, type: http, url: "$TOOLS/weather", description: The weather of a city., recovery: read_only,
         parameters: {type: object, properties: {city: {type: string}}, required: [city]}}
      - {name: broken, type: http, url: "$TOOLS/broken", description: Is out of order., recovery: read_only, parameters: {type: object}}
      - {name: pay, type: http, url: "$TOOLS/pay", description: Pays., parameters: {type: object}, approval: always}
      - {name: slow, type: http, url: "$TOOLS/slow", description: Takes long., parameters: {type: object}, timeout: 120s}
`

// Agent is an agent of a file that plays the scenarios with a model of provider at baseURL.
func Agent(name, provider, baseURL string) string {
	return "\n  " + name + ":\n    model: {provider: " + provider + `, name: test-model, baseURL: "` + baseURL + `", apiKey: "${TEST_MODEL_KEY}"}` +
		"\n    instructions: You know the weather.\n    tools:" + Tools
}

// Prepare makes a tool server behave as the scenarios need it.
func Prepare(tools *harness.ToolServer) {
	tools.Behave("/weather", func(context.Context, harness.ToolCall) (int, string) { return http.StatusOK, `{"celsius":3}` })
	tools.Behave("/broken", func(context.Context, harness.ToolCall) (int, string) {
		return http.StatusUnprocessableEntity, "the station is down"
	})
	tools.Behave("/slow", harness.Hang)
}

// Cast is what a scenario is played by.
type Cast struct {
	API   *harness.API
	Tools *harness.ToolServer
	Agent string
	// Second is the agent of the second turn; empty: Agent.
	Second string
}

// A Scenario is one conversation.
type Scenario struct {
	Name string
	// Says is what the user says, Calls what the model asks for then, and Answer what it says in the end.
	Says   string
	Calls  []modelserver.Call
	Answer string
	// Failed are the names of the calls whose results are errors.
	Failed []string
	act    func(t *testing.T, cast Cast, view execution.View) // what a person does meanwhile
	state  execution.State
}

// Thanks is what the user says in the second turn of each, and Welcome what the model answers.
const (
	Thanks  = "Thank you."
	Welcome = "You are welcome, any time."
)

// All are the scenarios.
func All() []Scenario {
	oslo := modelserver.Call{Name: "weather", Arguments: `{"city":"Oslo"}`}
	bergen := modelserver.Call{Name: "weather", Arguments: `{"city":"Bergen"}`}
	return []Scenario{
		{Name: "a text", Says: "Say hello.", Answer: "Hello to you.", state: execution.Completed},
		{Name: "one tool", Says: "How cold is Oslo?", Calls: []modelserver.Call{oslo}, Answer: "It is 3 degrees in Oslo.", state: execution.Completed},
		{
			Name: "parallel tools", Says: "Compare Oslo and Bergen.", Calls: []modelserver.Call{oslo, bergen},
			Answer: "Both have 3 degrees.", state: execution.Completed,
		},
		{
			Name: "a tool's error", Says: "Use what is broken.", Calls: []modelserver.Call{{Name: "broken", Arguments: "{}"}},
			Answer: "It does not work.", Failed: []string{"broken"}, state: execution.Completed,
		},
		{
			Name: "a rejected call beside one that is not", Says: "Pay for Oslo.",
			Calls: []modelserver.Call{oslo, {Name: "pay", Arguments: `{"amount":7}`}}, Answer: "It is not paid.", Failed: []string{"pay"},
			act: reject, state: execution.Completed,
		},
		{
			Name: "a canceled call", Says: "Take your time.", Calls: []modelserver.Call{oslo, {Name: "slow", Arguments: "{}"}},
			act: cancelInCall, state: execution.Canceled,
		},
	}
}

// Answer is how a model server plays the model's part.
func Answer(request modelserver.Request) modelserver.Reply {
	usage := &modelserver.Usage{Input: 20, Output: 8}
	for _, s := range All() {
		switch {
		case request.Said == Thanks:
			return modelserver.Reply{Text: []string{Welcome[:8], Welcome[8:]}, Usage: usage}
		case request.Said != s.Says:
		case len(request.Results) < len(s.Calls):
			return modelserver.Reply{Text: []string{"Let me", " look."}, Calls: s.Calls, Usage: usage}
		default:
			return modelserver.Reply{Text: strings.SplitAfter(s.Answer, " "), Usage: usage}
		}
	}
	return modelserver.Reply{Status: http.StatusNotFound, Message: "no scenario says " + request.Said}
}

// Play plays the scenario and another turn behind it.
func (s Scenario) Play(t *testing.T, cast Cast) {
	t.Helper()
	first := say(t, cast.API, cast.Agent, "", s.Says)
	if s.act != nil {
		s.act(t, cast, first)
	}
	ended := cast.API.AwaitState(first.ID, endTimeout, s.state)
	events := cast.API.Events(first.ID)
	harness.CheckLog(t, first.ID, events)
	if s.state == execution.Completed {
		require.Equal(t, s.Answer, ended.Outcome.Answer)
		require.Equal(t, s.Failed, failed(events))
	}
	second := cast.Second
	if second == "" {
		second = cast.Agent
	}
	view := say(t, cast.API, second, ended.ConversationID, Thanks)
	view = cast.API.AwaitState(view.ID, endTimeout, execution.Completed)
	require.Equal(t, Welcome, view.Outcome.Answer)
	for _, call := range cast.Tools.Calls("/pay") {
		require.NotEqual(t, first.ID, call.Execution, "what was rejected is not sent")
	}
	require.Equal(t, int64(1), view.Usage.Requests)
	harness.CheckLog(t, view.ID, cast.API.Events(view.ID))
}

func say(t *testing.T, api *harness.API, agent string, conversation execution.ConversationID, text string) execution.View {
	t.Helper()
	body := harness.Submission(agent, text)
	body.ConversationID = conversation
	answer, err := api.TrySubmit(t.Context(), "", body)
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, answer.Status, "%s", answer.Body)
	view, err := answer.View()
	require.NoError(t, err)
	return view
}

// failed names the tools whose calls failed, in the order of the log.
func failed(events []execution.Event) []string {
	var names []string
	for _, event := range events {
		if done, ok := event.Payload.(*execution.ToolCompleted); ok && done.Failed {
			names = append(names, done.Name)
		}
	}
	return names
}

// reject rejects the call that wants an approval.
func reject(t *testing.T, cast Cast, view execution.View) {
	t.Helper()
	open := cast.API.AwaitState(view.ID, endTimeout, execution.WaitingForInput)
	require.Len(t, open.Interaction.Calls, 1)
	require.Equal(t, "pay", open.Interaction.Calls[0].Name)
	cast.API.Decide(open, execution.Decision{Decision: execution.Reject, Reason: "too dear"})
}

// cancelInCall cancels when the slow call is in flight and the other one has its receipt.
func cancelInCall(t *testing.T, cast Cast, view execution.View) {
	t.Helper()
	harness.Eventually(t, endTimeout, "the slow call is in flight", func() bool {
		for _, call := range cast.Tools.Calls("/slow") {
			if call.Execution == view.ID {
				return true
			}
		}
		return false
	})
	harness.Eventually(t, endTimeout, "the other call has its receipt", func() bool {
		for _, event := range cast.API.Events(view.ID) {
			if done, ok := event.Payload.(*execution.ToolCompleted); ok && done.Name == "weather" {
				return true
			}
		}
		return false
	})
	cast.API.Cancel(view.ID)
}
