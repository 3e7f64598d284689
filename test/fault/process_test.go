//go:build faultpoint

package fault

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

const moody = `
agents:
  moody:
    model:
      provider: scripted
      turns:
        - {error: {status: 429, retryAfter: 1s}}
        - {error: {status: 503, retryAfter: 700ms}}
        - {text: "At last."}
`

func TestCaseB11_AFailedNodeIsNeverRetriedBeforeItsTime(t *testing.T) {
	t.Parallel()
	stack := harness.New(t, harness.Config{Agents: moody})
	api := stack.API()
	stack.Reaper()
	stack.Worker()
	stack.Worker()
	view := api.Submit("moody", "Oslo, please")
	api.AwaitState(view.ID, endTimeout, execution.Completed)
	events := api.Events(view.ID)
	harness.CheckLog(t, view.ID, events)
	wanted := []int64{1000, 700}
	for i, event := range events {
		retry, ok := event.Payload.(*execution.RetryScheduled)
		if !ok {
			continue
		}
		require.NotEmpty(t, wanted, "more retries than errors")
		require.GreaterOrEqual(t, retry.AtMs-event.OccurredAtMs, wanted[0], "never before Retry-After")
		require.GreaterOrEqual(t, events[i+1].OccurredAtMs, retry.AtMs, "the node ran before its time")
		wanted = wanted[1:]
	}
	require.Empty(t, wanted, "a retry is missing")
}

func TestCaseA11_AWorkerIsAnotherOneEachTimeItStarts(t *testing.T) {
	t.Parallel()
	think := make(chan struct{})
	model := holdModel(t, func(int) { <-think })
	stack := harness.New(t, harness.Config{Agents: model.agents})
	api := stack.API()
	known := map[string]bool{}
	for i := range 3 {
		worker := stack.Worker()
		view := api.Submit("thinker", "Oslo, please")
		name := model.awaitRequest(t, stack, view.ID, i+1).Worker
		require.False(t, known[name], "the id of a worker that has ended was used again")
		require.GreaterOrEqual(t, len(name), 16, "random, no host name or number")
		known[name] = true
		think <- struct{}{}
		api.AwaitState(view.ID, endTimeout, execution.Completed)
		worker.StopCleanly()
	}
}

func TestCaseA23_TheResultIsTheRecordAndNotTheConnection(t *testing.T) {
	t.Parallel()
	think := make(chan struct{})
	model := holdModel(t, func(int) { <-think })
	stack := harness.New(t, harness.Config{Agents: model.agents})
	first, second := stack.API(), stack.API()
	stack.Reaper()
	stack.Worker()
	view := first.Submit("thinker", "Oslo, please")
	path := "/v1/executions/" + string(view.ID) + "?wait=30s"
	broken := make(chan error, 1)
	go func() {
		for { // wait answers at each change of state; only the last wait is cut
			if _, err := first.Do(context.Background(), http.MethodGet, path, nil, nil); err != nil {
				broken <- err
				return
			}
		}
	}()
	second.AwaitState(view.ID, endTimeout, execution.Running)
	first.Kill()
	require.Error(t, <-broken)
	close(think)
	answer, err := second.Do(context.Background(), http.MethodGet, path, nil, nil)
	require.NoError(t, err)
	ended, err := answer.View()
	require.NoError(t, err)
	require.Equal(t, execution.Completed, ended.State)
	require.Equal(t, "Thought.", ended.Outcome.Answer)
}

func TestCaseA17_AnExecutionRunsOnAWorkerWhoseFileDoesNotKnowItsAgent(t *testing.T) {
	t.Parallel()
	other := filepath.Join(t.TempDir(), "other.yaml")
	require.NoError(t, os.WriteFile(other, []byte(moody), 0o600))
	stack := harness.New(t, harness.Config{Agents: talker})
	api := stack.API()
	unaware := map[string]string{"PAWL_AGENTS": other}
	stack.Reaper(unaware)
	victim := stack.Worker(unaware, harness.AtFault("before_commit:model_response"))
	view := api.Submit("talker", "Hello?")
	died := victim.WaitFault("before_commit:model_response")
	stack.Worker(unaware)
	api.AwaitState(view.ID, endTimeout, execution.Completed)
	events := api.Events(view.ID)
	harness.CheckLog(t, view.ID, events)
	require.Equal(t, 1, harness.CountWarnings(events, execution.WarningReclaimed))
	t.Logf("completed %.3f s after the kill", time.Since(died).Seconds())
}
