//go:build faultpoint

package fault

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

const cancelables = `
agents:
  caller:
    model:
      provider: scripted
      turns:
        - toolCalls: [{name: slow, arguments: {city: Oslo}}]
        - {text: "Found."}
    tools:
      - {name: slow, type: http, url: "$TOOLS/slow", recovery: unsafe, timeout: 120s}
  thinker:
    model: {provider: scripted, turns: [{delay: 120s, text: "Thought."}]}
  asker:
    model:
      provider: scripted
      turns:
        - toolCalls: [{name: confirm, arguments: {question: "Book it?"}}]
        - {text: "Booked."}
    tools:
      - {name: confirm, type: human}
`

// stopBound is how soon after a cancel the request in flight must be closed.
const stopBound = time.Second

func TestCancelStopsTheSpend(t *testing.T) {
	t.Parallel()
	t.Run("case D4: an http tool call in flight is closed within a second", cancelInToolCall)
	t.Run("case D4: a model request in flight is closed within a second", cancelInModelRequest)
	t.Run("a queued execution ends in the call", cancelQueued)
	t.Run("a waiting execution ends in the call", cancelWaiting)
	t.Run("cases A20, A22: an execution whose holder was killed ends within TTL + interval + 1 s", cancelDeadHolder)
}

func cancelInToolCall(t *testing.T) {
	t.Parallel()
	stack, tools := cancelStack(t)
	api := stack.API()
	stack.Reaper()
	stack.Worker()
	view := api.Submit("caller", "Oslo, please")
	tools.WaitCalls(t, endTimeout, "/slow", 1)
	asked, span := time.Now(), stack.Span()
	_, status := api.Cancel(view.ID)
	require.Equal(t, http.StatusAccepted, status)
	harness.Eventually(t, endTimeout, "the connection is closed", func() bool { return tools.Calls("/slow")[0].Closed })
	closed := tools.Calls("/slow")[0].Ended.Sub(asked)
	span.Within(t, closed, stopBound, "the end of the tool call")
	api.AwaitState(view.ID, endTimeout, execution.Canceled)
	ended := time.Since(asked)
	checkCanceled(t, api, view.ID)
	require.Len(t, tools.Calls("/slow"), 1, "nothing was sent after the cancel")
	t.Logf("from the cancel: connection closed after %.3f s, canceled after %.3f s", closed.Seconds(), ended.Seconds())
}

func cancelInModelRequest(t *testing.T) {
	t.Parallel()
	stack, _ := cancelStack(t)
	api := stack.API()
	stack.Reaper()
	stack.Worker()
	view := api.Submit("thinker", "Oslo, please")
	harness.Eventually(t, endTimeout, "the model is asked", func() bool {
		holder := stack.Holder(view.ID)
		return holder.Worker != "" && holder.Node == "before_model_request"
	})
	asked, span := time.Now(), stack.Span()
	_, status := api.Cancel(view.ID)
	require.Equal(t, http.StatusAccepted, status)
	api.AwaitState(view.ID, endTimeout, execution.Canceled)
	ended := time.Since(asked)
	span.Within(t, ended, stopBound, "the cancel")
	checkCanceled(t, api, view.ID)
	t.Logf("from the cancel: canceled after %.3f s", ended.Seconds())
}

func cancelQueued(t *testing.T) {
	t.Parallel()
	stack, _ := cancelStack(t)
	api := stack.API()
	view := api.Submit("thinker", "Oslo, please")
	require.Equal(t, execution.Queued, view.State)
	canceled, _ := api.Cancel(view.ID)
	require.Equal(t, execution.Canceled, canceled.State)
	checkCanceled(t, api, view.ID)

	stack.Reaper()
	stack.Worker()
	harness.Eventually(t, endTimeout, "the task that is left over is done", func() bool {
		return harness.Sum(stack.Standing()) == 0
	})
	require.Equal(t, canceled, api.Get(view.ID), "the left-over task changes nothing")
	again, status := api.Cancel(view.ID)
	require.Equal(t, http.StatusOK, status, "a second cancel changes nothing")
	require.Equal(t, canceled, again)
}

func cancelWaiting(t *testing.T) {
	t.Parallel()
	stack, _ := cancelStack(t)
	api := stack.API()
	stack.Reaper()
	stack.Worker()
	view := api.Submit("asker", "Oslo, please")
	waiting := api.AwaitState(view.ID, endTimeout, execution.WaitingForInput)
	canceled, _ := api.Cancel(view.ID)
	require.Equal(t, execution.Canceled, canceled.State)
	checkCanceled(t, api, view.ID)
	late := api.TryInput(view.ID, "late", execution.Input{
		Type: execution.ElicitationResponse, RequestID: waiting.Interaction.RequestID, Text: "yes",
	})
	require.Equal(t, http.StatusConflict, late.Status, "%s", late.Body)
}

func cancelDeadHolder(t *testing.T) {
	t.Parallel()
	stack, tools := cancelStack(t)
	api := stack.API()
	stack.Reaper()
	worker := stack.Worker()
	view := api.Submit("caller", "Oslo, please")
	tools.WaitCalls(t, endTimeout, "/slow", 1)
	worker.Kill()
	died, span := time.Now(), stack.Span()
	api.Cancel(view.ID)
	api.AwaitState(view.ID, endTimeout, execution.Canceled)
	took := time.Since(died)
	span.Within(t, took, stack.Config.ClaimTTL+stack.Config.ReapInterval+time.Second, "the cancel")
	checkCanceled(t, api, view.ID)
	t.Logf("no worker left: canceled %.3f s after its holder was killed", took.Seconds())
}

func cancelStack(t *testing.T) (*harness.Stack, *harness.ToolServer) {
	t.Helper()
	tools := harness.Tools(t)
	tools.Behave("/slow", harness.Hang)
	return harness.New(t, harness.Config{Agents: agentsFor(tools, cancelables)}), tools
}

func checkCanceled(t *testing.T, api *harness.API, id execution.ID) {
	t.Helper()
	events := api.Events(id)
	harness.CheckLog(t, id, events)
	require.Equal(t, execution.TypeExecutionCanceled, events[len(events)-1].Payload.EventType())
	view := api.Get(id)
	require.Nil(t, view.Outcome)
	require.Nil(t, view.Failure)
}
