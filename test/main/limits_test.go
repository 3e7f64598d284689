package main_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
	"github.com/pawl-run/pawl/test/modelserver"
)

// spender is an agent that would go on for ever: its model asks for another call each time.
const spender = `
  $NAME:
    model: {provider: $PROVIDER, name: test-model, baseURL: "$MODEL", prices: {inputPer1M: 2.5, outputPer1M: 10}}
    instructions: Never stop.
    tools:
      - {name: more, type: http, url: "$TOOLS/more", description: Gives more., recovery: read_only, parameters: {type: object}}
    limits: {$LIMIT}
`

// billing is how the server bills a request: as much as its words may be worth, and all of the answer that it may give.
func billing(request modelserver.Request) modelserver.Usage {
	bill := modelserver.Usage{Input: int64(len(request.Body)) / 3, Output: 40}
	if most := request.MaxOutputTokens; most > 0 && most < bill.Output {
		bill.Output = most
	}
	return bill
}

// spend answers with another call; every third request is refused for a moment.
func spend(request modelserver.Request) modelserver.Reply {
	bill := billing(request)
	return modelserver.Reply{
		Text: []string{"More, ", "please. "}, Usage: &bill, Cut: request.MaxOutputTokens > 0 && request.MaxOutputTokens < 40,
		Calls: []modelserver.Call{{Name: "more", Arguments: "{}"}},
	}
}

// bills is what the server has billed in all.
func bills(exchanges []modelserver.Exchange) (requests, input, output, micros int64) {
	for _, exchange := range exchanges {
		bill := billing(exchange.Request)
		requests, input, output = requests+1, input+bill.Input, output+bill.Output
		micros += (bill.Input*25 + bill.Output*100) / 10
	}
	return requests, input, output, micros
}

// limitCase is a limit, and what it must bound.
type limitCase struct {
	name, yaml string
	holds      func(t *testing.T, exchanges []modelserver.Exchange, calls int)
}

func limitCases() []limitCase {
	exactly := func(n int) func(*testing.T, []modelserver.Exchange, int) {
		return func(t *testing.T, exchanges []modelserver.Exchange, _ int) {
			t.Helper()
			require.Len(t, exchanges, n)
		}
	}
	within := func(limit int64, which func(input, output, micros int64) int64) func(*testing.T, []modelserver.Exchange, int) {
		return func(t *testing.T, exchanges []modelserver.Exchange, _ int) {
			t.Helper()
			requests, input, output, micros := bills(exchanges)
			require.LessOrEqual(t, which(input, output, micros), limit, "billed in %d requests", requests)
			require.Greater(t, requests, int64(1), "the limit leaves room for more than one")
		}
	}
	return []limitCase{
		{"maxModelRequests", "maxModelRequests: 3", exactly(3)},
		{"maxTurns", "maxTurns: 3", exactly(3)},
		{"maxToolCalls", "maxToolCalls: 2", func(t *testing.T, exchanges []modelserver.Exchange, calls int) {
			t.Helper()
			require.Equal(t, 2, calls, "the third one is not sent")
			require.Len(t, exchanges, 3, "it is asked for")
		}},
		{"maxInputTokens", "maxInputTokens: 8000", within(8000, func(input, _, _ int64) int64 { return input })},
		{"maxOutputTokens", "maxOutputTokens: 100", within(100, func(_, output, _ int64) int64 { return output })},
		{"maxTotalTokens", "maxTotalTokens: 8000", within(8000, func(input, output, _ int64) int64 { return input + output })},
		{"maxCost", "maxCost: 0.02", within(20_000, func(_, _, micros int64) int64 { return micros })},
	}
}

// Case J3: a limit of each kind ends the run before the request that would pass it, in the books of a server that bills as
// much as it may.
func TestCaseJ3_ALimitOfEachKindHoldsInTheBooksOfTheProvider(t *testing.T) {
	t.Parallel()
	models := map[string]*modelserver.Server{}
	tools := harness.Tools(t)
	file := "agents:"
	for _, provider := range []string{"openai", "anthropic"} {
		for _, c := range limitCases() {
			name := provider + "-" + c.name
			models[name] = modelserver.New(t, spend)
			url := models[name].URL
			if provider == "openai" {
				url += "/v1"
			}
			file += strings.NewReplacer("$NAME", name, "$PROVIDER", provider, "$MODEL", url, "$TOOLS", tools.URL+"/"+name,
				"$LIMIT", c.yaml).Replace(spender)
		}
	}
	stack := shipped(t, file)
	api := stack.API()
	stack.Reaper()
	stack.Worker()
	for _, provider := range []string{"openai", "anthropic"} {
		for _, c := range limitCases() {
			t.Run(provider+": "+c.name, func(t *testing.T) {
				t.Parallel()
				name := provider + "-" + c.name
				api := api.For(t)
				view := api.Submit(name, "Go on.")
				view = api.AwaitState(view.ID, endTimeout, execution.Failed)
				require.Equal(t, execution.CodeUsageLimitExceeded, view.Failure.Code, view.Failure.Message)
				require.Contains(t, view.Failure.Message, c.name)
				exchanges := models[name].Exchanges()
				c.holds(t, exchanges, len(tools.Calls("/"+name+"/more")))
				requests, input, output, _ := bills(exchanges)
				require.Equal(t, requests, view.Usage.Requests)
				require.Equal(t, input, view.Usage.InputTokens)
				require.Equal(t, output, view.Usage.OutputTokens)
				models[name].CheckAccepted(t)
				harness.CheckLog(t, view.ID, api.Events(view.ID))
			})
		}
	}
}

// Failed attempts are charged: a provider that refuses every other request uses up the limit of requests all the same.
func TestCaseJ3_FailedAttemptsAreCharged(t *testing.T) {
	t.Parallel()
	refuse := make(chan struct{}, 1)
	models := modelserver.New(t, func(request modelserver.Request) modelserver.Reply {
		select {
		case refuse <- struct{}{}:
			return modelserver.Reply{Status: http.StatusServiceUnavailable, Message: "busy"}
		case <-refuse:
			return spend(request)
		}
	})
	tools := harness.Tools(t)
	stack := shipped(t, "agents:"+strings.NewReplacer("$NAME", "spender", "$PROVIDER", "openai", "$MODEL", models.URL+"/v1",
		"$TOOLS", tools.URL, "$LIMIT", "maxModelRequests: 4").Replace(spender))
	api := stack.API()
	stack.Reaper()
	stack.Worker()
	view := api.AwaitState(api.Submit("spender", "Go on.").ID, endTimeout, execution.Failed)
	require.Equal(t, execution.CodeUsageLimitExceeded, view.Failure.Code, view.Failure.Message)
	require.Len(t, models.Exchanges(), 4)
	require.Equal(t, int64(4), view.Usage.Requests)
}

// A deadline closes the request in flight, and none follows it.
func TestCaseJ3_ADeadlineEndsARequestInFlight(t *testing.T) {
	t.Parallel()
	models := modelserver.New(t, func(modelserver.Request) modelserver.Reply {
		return modelserver.Reply{Text: []string{"Once upon a time"}, Hold: true}
	})
	stack := shipped(t, "agents:"+strings.NewReplacer("$NAME", "spender", "$PROVIDER", "openai", "$MODEL", models.URL+"/v1",
		"$TOOLS", models.URL, "$LIMIT", "deadline: 2s").Replace(spender))
	api := stack.API()
	stack.Reaper()
	stack.Worker()
	began, span := time.Now(), stack.Span()
	view := api.AwaitState(api.Submit("spender", "Go on.").ID, endTimeout, execution.Failed)
	require.Equal(t, execution.CodeDeadlineExceeded, view.Failure.Code)
	span.Within(t, time.Since(began), 5*time.Second, "the end by the deadline")
	exchanges := models.Exchanges()
	require.Len(t, exchanges, 1)
	require.True(t, exchanges[0].Closed)
	require.Equal(t, int64(1), view.Usage.Requests)
}
