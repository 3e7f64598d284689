//go:build faultpoint

package fault

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

// broods is how many children a parent has.
const broods = 20

// families is the file of a lead whose researchers look something up or ask a person, and of a lead in a lead.
func families(tools *harness.ToolServer) string {
	calls := func(name string, n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`{name: %s, arguments: {prompt: "part %d"}}`, name, i))
		}
		return strings.Join(list, ", ")
	}
	return strings.NewReplacer("$MANY", calls("research", broods), "$ASKING", calls("ask", broods), "$TWO", calls("research", 2)).
		Replace(agentsFor(tools, `
agents:
  lead:
    model: {provider: scripted, turns: [{toolCalls: [$MANY]}, {text: "Done."}]}
    tools: [{name: research, type: agent, agent: researcher}]
  pair:
    model: {provider: scripted, turns: [{toolCalls: [$TWO]}, {text: "Done."}]}
    tools: [{name: research, type: agent, agent: plain}]
  plain: # has no tools: what is killed in a call or behind one is the parent
    model: {provider: scripted, turns: [{text: "Found."}]}
  patient:
    model: {provider: scripted, turns: [{toolCalls: [$ASKING]}, {text: "Done."}]}
    tools: [{name: ask, type: agent, agent: asker}]
  researcher:
    model: {provider: scripted, turns: [{toolCalls: [{name: look}]}, {toolCalls: [{name: look}]}, {text: "Found."}]}
    tools: [{name: look, type: http, url: "$TOOLS/look", recovery: idempotent, timeout: 60s}]
  asker:
    model: {provider: scripted, turns: [{toolCalls: [{name: confirm, arguments: {question: "So?"}}]}, {text: "Asked."}]}
    tools: [{name: confirm, type: human}]
`))
}

// each runs a test with one node per task, and with eight.
func each(t *testing.T, test func(t *testing.T, env map[string]string)) {
	t.Helper()
	for _, nodes := range []string{"1", "8"} {
		t.Run(nodes+" nodes per task", func(t *testing.T) {
			t.Parallel()
			test(t, map[string]string{"PAWL_NODES_PER_TASK": nodes, "PAWL_MAX_RECLAIMS": "1000"})
		})
	}
}

// brood are the children of a parent's first batch.
func brood(parent execution.ID, n int) []execution.ID {
	ids := make([]execution.ID, n)
	for i := range ids {
		ids[i] = execution.ChildID(parent, execution.NewCallID(0, i))
	}
	return ids
}

// delivered checks that each call of the parent's batch has one result, and gives what the model reads of them.
func delivered(t *testing.T, api *harness.API, parent execution.ID, n int) {
	t.Helper()
	events := api.Events(parent)
	harness.CheckLog(t, parent, events)
	done := map[execution.CallID]int{}
	for _, event := range events {
		if completed, ok := event.Payload.(*execution.ToolCompleted); ok {
			done[completed.CallID]++
			require.False(t, completed.Failed)
		}
	}
	require.Len(t, done, n)
	for call, times := range done {
		require.Equal(t, 1, times, "%s was delivered more than once", call)
	}
}

// Whatever worker dies, and however often: a parent gets each of its children's results once, and all of them end.
func TestAParentOfManyChildrenGetsEachResultOnceWhateverWorkerDies(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, env map[string]string) {
		t.Helper()
		tools := harness.Tools(t)
		tools.Behave("/look", harness.After(700*time.Millisecond))
		stack := harness.New(t, harness.Config{Agents: families(tools), Env: env})
		api := stack.API()
		stack.Reaper()
		workers := []*harness.Process{stack.Worker(), stack.Worker(), stack.Worker()}
		parent := api.Submit("lead", "Research it.").ID
		kills := 0
		ended := harness.Poll(2*time.Minute, func() bool {
			if kills < 8 {
				i := rand.IntN(len(workers)) //nolint:gosec // no secret
				workers[i].Kill()
				workers[i] = stack.Worker()
				kills++
			}
			return api.Get(parent).State.Terminal()
		})
		require.True(t, ended, "%+v", api.Get(parent))
		view := api.Get(parent)
		require.Equal(t, execution.Completed, view.State, "%+v", view)
		delivered(t, api, parent, broods)
		requests, reclaims := int64(0), 0
		for _, id := range append(brood(parent, broods), parent) {
			row := api.Get(id)
			require.Equal(t, execution.Completed, row.State, "%+v", row)
			events := api.Events(id)
			harness.CheckLog(t, id, events)
			reclaims += harness.CountWarnings(events, execution.WarningReclaimed)
			requests += row.Usage.Requests - row.Usage.DelegatedRequests
		}
		require.Equal(t, requests, view.Usage.Requests, "what all have spent is the parent's")
		harness.CheckEffectIDs(t, tools)
		t.Logf("%d workers killed, %d reclaims, %d requests", kills, reclaims, requests)
	})
}

// A parent that is canceled half-way takes its children along: none goes on.
func TestACanceledParentOfManyChildrenLeavesNoneRunning(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, env map[string]string) {
		t.Helper()
		tools := harness.Tools(t)
		var answered []execution.ID // of those whose calls are answered; set before known is closed
		known := make(chan struct{})
		tools.Behave("/look", func(ctx context.Context, call harness.ToolCall) (int, string) {
			select {
			case <-known:
			case <-ctx.Done():
			}
			if !slices.Contains(answered, call.Execution) {
				<-ctx.Done()
			}
			return http.StatusOK, `{}`
		})
		stack := harness.New(t, harness.Config{Agents: families(tools), Env: env})
		api := stack.API()
		stack.Reaper()
		workers := []*harness.Process{stack.Worker(), stack.Worker()}
		parent := api.Submit("lead", "Research it.").ID
		children := brood(parent, broods)
		answered = children[:broods/2]
		close(known)
		completed := func() (n int) {
			for _, id := range children {
				if stateOf(api, id) == execution.Completed {
					n++
				}
			}
			return n
		}
		harness.Eventually(t, time.Minute, "half of the children are done", func() bool { return completed() == broods/2 })
		workers[0].Kill()
		api.Cancel(parent)
		api.AwaitState(parent, endTimeout, execution.Canceled)
		for _, id := range children {
			view := api.AwaitState(id, endTimeout, execution.Completed, execution.Canceled)
			harness.CheckLog(t, id, api.Events(id))
			require.Nil(t, view.Wait)
		}
		require.Equal(t, broods/2, completed(), "the others were canceled")
		for _, call := range tools.Calls("/look") {
			require.True(t, call.Closed || !call.Ended.IsZero(), "a call of an execution that has ended is in flight")
		}
		harness.Eventually(t, time.Minute, "no task is left over", func() bool {
			counts := stack.Standing()
			return counts["pending"]+counts["scheduled"]+counts["retry"] == 0
		})
	})
}

// stateOf is the state of an execution, empty when there is none yet.
func stateOf(api *harness.API, id execution.ID) execution.State {
	answer, err := api.Do(context.Background(), http.MethodGet, "/v1/executions/"+string(id), nil, nil)
	if err != nil || answer.Status != http.StatusOK {
		return ""
	}
	view, err := answer.View()
	if err != nil {
		return ""
	}
	return view.State
}

// A family of which everybody waits holds no worker: nobody has a claim, and no task is running or standing.
func TestAFamilyThatWaitsHoldsNoWorker(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, env map[string]string) {
		t.Helper()
		tools := harness.Tools(t)
		stack := harness.New(t, harness.Config{Agents: families(tools), Env: env})
		api := stack.API()
		stack.Reaper()
		stack.Worker(map[string]string{"PAWL_CONCURRENCY": "1"}) // one that waited would keep all others from going on
		parent := api.Submit("patient", "Ask them.").ID
		children := brood(parent, broods)
		for _, id := range children {
			harness.Eventually(t, time.Minute, "a child asks", func() bool { return stateOf(api, id) == execution.WaitingForInput })
		}
		view := api.Get(parent)
		require.Equal(t, execution.Running, view.State)
		require.Equal(t, execution.WaitChild, view.Wait.Kind)
		holders, err := stack.Holders(append(children, parent))
		require.NoError(t, err)
		held := 0
		for _, holder := range holders {
			if holder.Worker != "" {
				held++
			}
		}
		require.Zero(t, held, "claims while all wait")
		harness.Eventually(t, endTimeout, "no task runs or stands", func() bool { return harness.Sum(stack.Standing()) == 0 })
		t.Logf("%d executions wait, with %d claims and %d tasks", len(holders), held, harness.Sum(stack.Standing()))
		for _, id := range children {
			api.Reply(api.Get(id), "so")
		}
		api.AwaitState(parent, time.Minute, execution.Completed)
		delivered(t, api, parent, broods)
	})
}

// A parent whose worker dies, wherever it stands with its children, starts none twice and gets each result once.
func TestChildrenAreStartedAndDeliveredOnceAlsoWhenTheParentsWorkerDied(t *testing.T) {
	t.Parallel()
	for name, point := range map[string]string{
		"behind the first child":                     "spawned",
		"behind the second child":                    "spawned#2",
		"before the wait is written":                 "before_commit:tool_return",
		"behind the wait":                            "after_commit:tool_return",
		"with the results there and none taken":      "claimed:tool_return",
		"with receipts of the results":               "before_commit:prepare_model_request#4",
		"behind the receipts":                        "after_commit:prepare_model_request#4",
		"in front of the call that starts the first": "claimed:tool_call",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tools := harness.Tools(t)
			stack := harness.New(t, harness.Config{Agents: families(tools), Env: map[string]string{"PAWL_WORKER_QUEUES": "default,suspect"}})
			api := stack.API()
			stack.Reaper()
			victim := stack.Worker(harness.AtFault(point))
			parent := api.Submit("pair", "Research it.").ID
			victim.WaitFault(point)
			stack.Worker()
			view := api.AwaitState(parent, time.Minute, execution.Completed)
			delivered(t, api, parent, 2)
			for _, id := range brood(parent, 2) {
				require.Equal(t, execution.Completed, api.Get(id).State)
				require.Equal(t, 1, countType(api.Events(id), execution.TypeExecutionQueued))
			}
			require.Len(t, rowKeys(stack), 3, "a parent and two children")
			require.Equal(t, view.Usage.Requests-view.Usage.LostRequests, 2+view.Usage.DelegatedRequests)
		})
	}
}

func countType(events []execution.Event, kind execution.EventType) (n int) {
	for _, t := range harness.Types(events) {
		if t == kind {
			n++
		}
	}
	return n
}
