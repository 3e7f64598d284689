package main_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

// attempts is how often a node is tried before its execution is suspended; attemptsTimeout bounds that, back-offs
// included.
const (
	attempts        = 5
	attemptsTimeout = 60 * time.Second
)

const patient = `
agents:
  patient:
    model:
      provider: scripted
      turns:
        - toolCalls: [{name: lookup, arguments: {city: Oslo}}]
        - {text: "Booked."}
    tools:
      - {name: lookup, type: http, url: "$TOOLS/lookup", recovery: idempotent}
`

func TestAToolThatIsDownSuspendsAndAResumeGoesOn(t *testing.T) {
	t.Parallel()
	tools := harness.Tools(t)
	tools.Behave("/lookup", func(context.Context, harness.ToolCall) (int, string) {
		return http.StatusServiceUnavailable, "down"
	})
	stack := shipped(t, strings.ReplaceAll(patient, "$TOOLS", tools.URL))
	api := stack.API()
	stack.Worker()
	stack.Reaper()
	view := api.Submit("patient", "Oslo, please")
	suspended := api.AwaitState(view.ID, attemptsTimeout, execution.Suspended)
	require.Equal(t, execution.ReasonRetriesExhausted, suspended.Suspension.Reason)
	require.Len(t, tools.Calls("/lookup"), attempts)

	tools.Behave("/lookup", nil)
	resumed, status := api.Resume(view.ID)
	require.Equal(t, http.StatusAccepted, status)
	require.Equal(t, execution.Running, resumed.State)
	ended := api.AwaitState(view.ID, endTimeout, execution.Completed)
	require.Equal(t, "Booked.", ended.Outcome.Answer)
	require.Len(t, tools.Calls("/lookup"), attempts+1)
	harness.CheckEffectIDs(t, tools)
	events := api.Events(view.ID)
	harness.CheckLog(t, view.ID, events)
	require.Equal(t, 1, count(events, execution.TypeExecutionSuspended))
	require.Equal(t, 1, count(events, execution.TypeExecutionResumed))
	require.Equal(t, attempts-1, count(events, execution.TypeRetryScheduled))
}

func count(events []execution.Event, kind execution.EventType) int {
	n := 0
	for _, seen := range harness.Types(events) {
		if seen == kind {
			n++
		}
	}
	return n
}
