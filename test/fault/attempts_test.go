//go:build faultpoint

package fault

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
	"github.com/pawl-run/pawl/test/modelserver"
)

const stubborn = `
agents:
  model:
    model: {provider: openai, name: test-model, baseURL: "$MODELS/v1"}
  bounded:
    model: {provider: openai, name: test-model, baseURL: "$MODELS/v1"}
    limits: {maxModelRequests: 2}
  tool:
    model:
      provider: scripted
      turns: [{toolCalls: [{name: busy, arguments: {}}]}, {text: "Done."}]
    tools:
      - {name: busy, type: http, url: "$TOOLS/busy", recovery: idempotent, timeout: 120s}
`

const (
	maxAttempts = 5 // of one step
	deadlyTry   = 3 // the one in which the worker is killed
)

// Case B10: five failed attempts are all that a step gets, whichever workers make them; the one whose worker was killed in
// the middle is a reclaim, counted apart, and gives no new budget.
func TestCaseB10_AKilledWorkerGivesAStepNoNewAttempts(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{"model", "tool"} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			var tries atomic.Int64
			tools := harness.Tools(t)
			tools.Behave("/busy", func(ctx context.Context, call harness.ToolCall) (int, string) {
				if tries.Add(1) == deadlyTry {
					return harness.Hang(ctx, call)
				}
				return http.StatusServiceUnavailable, ""
			})
			models := modelserver.New(t, func(modelserver.Request) modelserver.Reply {
				if tries.Add(1) == deadlyTry {
					return modelserver.Reply{Text: []string{"Wait"}, Hold: true}
				}
				return modelserver.Reply{Status: http.StatusServiceUnavailable, Message: "busy"}
			})
			file := strings.NewReplacer("$TOOLS", tools.URL, "$MODELS", models.URL).Replace(stubborn)
			stack := harness.New(t, harness.Config{Agents: file})
			api := stack.API()
			stack.Reaper()
			victim := stack.Worker()
			id := api.Submit(agent, "Go.").ID
			harness.Eventually(t, endTimeout, "the third attempt is under way", func() bool { return tries.Load() == deadlyTry })
			victim.Kill()
			stack.Worker()
			view := api.AwaitState(id, 2*endTimeout, execution.Suspended)
			require.Equal(t, execution.ReasonRetriesExhausted, view.Suspension.Reason)
			require.Equal(t, int64(maxAttempts+1), tries.Load(), "five that failed, and the one that was killed")
			events := api.Events(id)
			require.Equal(t, 1, harness.CountWarnings(events, execution.WarningReclaimed))
			var attempts []int
			for _, event := range events {
				if retry, ok := event.Payload.(*execution.RetryScheduled); ok {
					attempts = append(attempts, retry.Attempt)
				}
			}
			require.Equal(t, []int{1, 2, 3, 4}, attempts)
		})
	}
}

// Case C2: a worker that dies behind each answer of the model costs as many requests as there may be reclaims, and the
// first one; then the execution is quarantined, and nothing asks the model again.
func TestCaseC2_ACrashLoopBehindTheModelsAnswerIsCutOff(t *testing.T) {
	t.Parallel()
	const reclaims, point = "2", "before_commit:model_response"
	models := modelserver.New(t, func(modelserver.Request) modelserver.Reply {
		return modelserver.Reply{Text: []string{"Hello."}, Usage: &modelserver.Usage{Input: 20, Output: 2}}
	})
	stack := harness.New(t, harness.Config{
		Agents: strings.NewReplacer("$TOOLS", models.URL, "$MODELS", models.URL).Replace(stubborn), Env: map[string]string{"PAWL_MAX_RECLAIMS": reclaims},
	})
	api := stack.API()
	stack.Reaper()
	id := api.Submit("model", "Go.").ID
	for range 3 {
		stack.Doomed(point).WaitFault(point)
	}
	stack.Worker()
	view := api.AwaitState(id, endTimeout, execution.Suspended)
	require.Equal(t, execution.ReasonQuarantined, view.Suspension.Reason)
	require.Contains(t, view.Suspension.Detail, "before_model_request", "it names the boundary")
	require.Len(t, models.Exchanges(), 3)
	require.Equal(t, 2, harness.CountWarnings(api.Events(id), execution.WarningReclaimed))
}

// Case C2: what nobody knows the outcome of counts as well, so a crash loop passes no limit either.
func TestCaseC2_RequestsOfKilledWorkersAreCharged(t *testing.T) {
	t.Parallel()
	const point = "before_commit:model_response"
	models := modelserver.New(t, func(modelserver.Request) modelserver.Reply {
		return modelserver.Reply{Text: []string{"Hello."}, Usage: &modelserver.Usage{Input: 20, Output: 2}}
	})
	stack := harness.New(t, harness.Config{Agents: strings.NewReplacer("$TOOLS", models.URL, "$MODELS", models.URL).Replace(stubborn)})
	api := stack.API()
	stack.Reaper()
	id := api.Submit("bounded", "Go.").ID
	for range 2 {
		stack.Doomed(point).WaitFault(point)
	}
	stack.Worker()
	view := api.AwaitState(id, endTimeout, execution.Failed)
	require.Equal(t, execution.CodeUsageLimitExceeded, view.Failure.Code)
	require.Contains(t, view.Failure.Message, "maxModelRequests")
	require.Len(t, models.Exchanges(), 2)
	require.Equal(t, int64(2), view.Usage.Requests)
	require.True(t, view.Usage.Partial, "what they cost is an estimate")
}
