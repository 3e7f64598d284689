//go:build faultpoint

package fault

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

// walkers are two agents that between them pass every boundary: one completes, one fails.
const walkers = `
agents:
  walk:
    model:
      provider: scripted
      turns:
        - toolCalls:
            - {name: lookup, arguments: {city: Oslo}}
            - {name: pay, arguments: {amount: 7}}
        - {text: "Booked."}
    tools:
      - {name: lookup, type: http, url: "$TOOLS/lookup", recovery: idempotent}
      - {name: pay, type: http, url: "$TOOLS/pay", recovery: unsafe}
  fall:
    model:
      provider: scripted
      turns:
        - toolCalls:
            - {name: lookup, arguments: {city: Oslo}}
            - {name: pay, arguments: {amount: 7}}
        - {text: "Booked."}
    tools:
      - {name: lookup, type: http, url: "$TOOLS/lookup", recovery: idempotent}
      - {name: pay, type: http, url: "$TOOLS/pay", recovery: unsafe}
    limits: {maxModelRequests: 1}
`

// kill is one place where a process is killed.
type kill struct {
	point    string
	agent    string
	reclaims int // that the log must tell of: one when a claim was left behind
}

// kills are the nine boundaries before their commit and the seven with a successor between commit and enqueue. The first
// commit, run_start, is the API's: its worker dies with the claim on that boundary, its API after the write.
func kills() []kill {
	list := []kill{{"claimed:run_start", "walk", 1}}
	followed := []string{
		"prepare_model_request", "before_model_request", "model_response", "tool_call", "tool_return", "validate_output",
	}
	for _, boundary := range followed {
		list = append(list, kill{"before_commit:" + boundary, "walk", 1})
	}
	list = append(list, kill{"before_commit:run_complete", "walk", 1}, kill{"before_commit:run_failed", "fall", 1},
		kill{"after_commit:run_start", "walk", 0})
	kept := 0 // behind a commit that kept its claim there is a holder to be reclaimed from
	if nodes := harness.NodesPerTask(); nodes != "" && nodes != "1" {
		kept = 1
	}
	for _, boundary := range followed {
		list = append(list, kill{"after_commit:" + boundary, "walk", kept})
	}
	return list
}

// killTable collects the measured times.
type killTable struct {
	mu    sync.Mutex
	times map[string]time.Duration
}

func (k *killTable) set(point string, took time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.times[point] = took
}

func (k *killTable) String() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var out strings.Builder
	for _, kill := range kills() {
		took, ok := k.times[kill.point]
		if !ok {
			fmt.Fprintf(&out, "  %-40s failed\n", kill.point)
			continue
		}
		fmt.Fprintf(&out, "  %-40s %7.3f s\n", kill.point, took.Seconds())
	}
	return out.String()
}

func TestAProcessKilledAtAnyBoundaryLosesNothing(t *testing.T) {
	t.Parallel()
	expected := referenceRuns(t)
	table := &killTable{times: map[string]time.Duration{}}
	t.Run("cases A1, A13, B6: killed", func(t *testing.T) {
		for _, kill := range kills() {
			t.Run("at "+kill.point, func(t *testing.T) {
				t.Parallel()
				if kill.point == "after_commit:run_start" {
					table.set(kill.point, killAPI(t, kill, expected[kill.agent]))
					return
				}
				table.set(kill.point, killWorker(t, kill, expected[kill.agent]))
			})
		}
	})
	t.Logf("from the kill to the next claim (TTL 2 s, grace 1 s, reap interval 1 s; bound 4 s):\n%s", table)
}

// referenceRuns lists the events of undisturbed runs.
func referenceRuns(t *testing.T) map[string][]execution.EventType {
	t.Helper()
	tools := harness.Tools(t)
	stack := harness.New(t, harness.Config{Agents: agentsFor(tools, walkers)})
	api := stack.API()
	stack.Worker()
	expected := map[string][]execution.EventType{}
	for agent, end := range map[string]execution.State{"walk": execution.Completed, "fall": execution.Failed} {
		view := api.Submit(agent, "Oslo, please")
		api.AwaitState(view.ID, endTimeout, end)
		events := api.Events(view.ID)
		harness.CheckLog(t, view.ID, events)
		expected[agent] = harness.Types(events)
		require.NotContains(t, expected[agent], execution.TypeWarning)
	}
	return expected
}

func killWorker(t *testing.T, kill kill, expected []execution.EventType) time.Duration {
	t.Helper()
	tools := harness.Tools(t)
	stack := harness.New(t, harness.Config{Agents: agentsFor(tools, walkers)})
	api := stack.API()
	stack.Reaper()
	victim := stack.Worker(harness.AtFault(kill.point))
	view := api.Submit(kill.agent, "Oslo, please")
	died, span := victim.WaitFault(kill.point), stack.Span()
	claimed := stack.NextClaim(view.ID, stack.Holder(view.ID).Fence, endTimeout)
	stack.Worker()
	checkSurvivor(t, stack, api, tools, view.ID, kill, expected)
	return checkBound(t, stack, span, died, claimed)
}

// killAPI kills the API between the write of a submission and its enqueue; the client gets no answer and repeats itself.
func killAPI(t *testing.T, kill kill, expected []execution.EventType) time.Duration {
	t.Helper()
	tools := harness.Tools(t)
	stack := harness.New(t, harness.Config{Agents: agentsFor(tools, walkers)})
	stack.Reaper()
	stack.Worker()
	victim := stack.API(harness.AtFault(kill.point))
	body := harness.Submission(kill.agent, "Oslo, please")
	_, err := victim.TrySubmit(context.Background(), "order-7", body)
	require.Error(t, err, "the API died before it could answer")
	died, span := victim.WaitFault(kill.point), stack.Span()
	rows := rowKeys(stack)
	require.Len(t, rows, 1, "the submission was written")
	id, err := execution.ParseID(rows[0][strings.LastIndex(rows[0], ":")+1:])
	require.NoError(t, err)
	claimed := stack.NextClaim(id, "", endTimeout)
	took := checkBound(t, stack, span, died, claimed) // before the client repeats itself, which would enqueue it too
	answer, err := stack.API().TrySubmit(context.Background(), "order-7", body)
	require.NoError(t, err)
	require.Equal(t, 200, answer.Status, "the submission was written: %s", answer.Body)
	require.Equal(t, "true", answer.Header.Get("Idempotency-Replayed"))
	view, err := answer.View()
	require.NoError(t, err)
	require.Equal(t, id, view.ID)
	checkSurvivor(t, stack, stack.API(), tools, id, kill, expected)
	return took
}

func checkSurvivor(t *testing.T, stack *harness.Stack, api *harness.API, tools *harness.ToolServer, id execution.ID,
	kill kill, expected []execution.EventType,
) {
	t.Helper()
	end := execution.Completed
	if kill.agent == "fall" {
		end = execution.Failed
	}
	view := api.AwaitState(id, endTimeout, end)
	events := api.Events(id)
	harness.CheckLog(t, id, events)
	require.Equal(t, expected, withoutWarnings(events), "events are missing or doubled")
	require.Equal(t, kill.reclaims, harness.CountWarnings(events, execution.WarningReclaimed))
	harness.CheckOnce(t, tools, "/pay")
	harness.CheckEffectIDs(t, tools)
	require.Len(t, stack.Checkpoints(id), int(view.Step)+1, "one checkpoint for each step")
}

func checkBound(t *testing.T, stack *harness.Stack, span *harness.Span, died time.Time, claimed <-chan time.Time) time.Duration {
	t.Helper()
	at, ok := <-claimed
	require.True(t, ok, "no claim was taken")
	took := at.Sub(died)
	span.Within(t, took, stack.Bound(), "the next claim")
	return took
}

func TestCaseA1_AnAPIKilledBeforeItsWriteLeavesNothingAndTheClientRepeats(t *testing.T) {
	t.Parallel()
	tools := harness.Tools(t)
	stack := harness.New(t, harness.Config{Agents: agentsFor(tools, walkers)})
	stack.Reaper()
	stack.Worker()
	victim := stack.API(harness.AtFault("before_commit:run_start"))
	body := harness.Submission("walk", "Oslo, please")
	_, err := victim.TrySubmit(context.Background(), "order-7", body)
	require.Error(t, err, "the API died before it could answer")
	victim.WaitFault("before_commit:run_start")
	require.Empty(t, rowKeys(stack))

	api := stack.API()
	answer, err := api.TrySubmit(context.Background(), "order-7", body)
	require.NoError(t, err)
	require.Equal(t, 202, answer.Status, "%s", answer.Body)
	view, err := answer.View()
	require.NoError(t, err)
	api.AwaitState(view.ID, endTimeout, execution.Completed)
	harness.CheckLog(t, view.ID, api.Events(view.ID))
}
