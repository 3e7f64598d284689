//go:build faultpoint

package fault

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

// cuts lists the cuts before and after each command from first to last.
func cuts(first, last, stride int) []harness.Cut {
	var list []harness.Cut
	for n := first; n <= last; n += stride {
		list = append(list, harness.Cut{Command: n}, harness.Cut{Command: n, After: true})
	}
	return list
}

// Each round kills an API at another Redis call of a submission. The client names its conversation, so that key entry and
// row lie in two partitions.
func TestCaseA1_AnAPIMayDieBetweenAnyTwoOfItsRedisCalls(t *testing.T) {
	t.Parallel()
	stack := harness.New(t, harness.Config{Agents: talker})
	healthy := stack.API()
	stack.Reaper()
	stack.Worker()
	const commands = 12
	submitted := map[string]execution.CreateRequest{}
	fired := 0
	for i, cut := range cuts(1, commands, 1) {
		proxy := stack.NewProxy()
		victim := stack.API(map[string]string{"PAWL_REDIS_URL": proxy.URL})
		proxy.Arm(cut, victim.Kill)
		key := fmt.Sprintf("order-%d", i)
		body := harness.Submission("talker", key)
		body.ConversationID = execution.ConversationID("conversation-" + key)
		submitted[key] = body
		answer, err := victim.TrySubmit(context.Background(), key, body)
		if err != nil {
			fired++
		} else {
			require.Equal(t, http.StatusAccepted, answer.Status, "%s", answer.Body)
		}
		victim.Kill()
	}
	harness.Eventually(t, endTimeout, "every execution that was written ends, though no client repeats itself", func() bool {
		for _, id := range rowIDs(t, stack) {
			if !healthy.Get(id).State.Terminal() {
				return false
			}
		}
		return true
	})
	written := len(rowKeys(stack))
	for key, body := range submitted {
		answer, err := healthy.TrySubmit(context.Background(), key, body)
		require.NoError(t, err)
		require.Less(t, answer.Status, 300, "%s", answer.Body)
		view, err := answer.View()
		require.NoError(t, err)
		healthy.AwaitState(view.ID, endTimeout, execution.Completed)
		harness.CheckLog(t, view.ID, healthy.Events(view.ID))
	}
	require.Len(t, rowKeys(stack), len(submitted), "one execution for each key")
	require.GreaterOrEqual(t, fired, commands, "the cuts reach past the last call of a submission")
	t.Logf("an API was killed at %d places of %d submissions: %d were written and ran, the others left nothing",
		fired, len(submitted), written)
}

func rowIDs(t *testing.T, stack *harness.Stack) []execution.ID {
	t.Helper()
	var ids []execution.ID
	for _, key := range rowKeys(stack) {
		id, err := execution.ParseID(key[strings.LastIndex(key, ":")+1:])
		require.NoError(t, err)
		ids = append(ids, id)
	}
	return ids
}

// wanderer passes the boundaries of a completed execution with an unsafe tool that needs no person.
const wanderer = `
  $NAME:
    queue: $NAME
    model:
      provider: scripted
      turns:
        - toolCalls:
            - {name: lookup, arguments: {city: Oslo}}
            - {name: pay, arguments: {amount: 7}}
        - {text: "Booked."}
    tools:
      - {name: lookup, type: http, url: "$TOOLS/lookup", recovery: idempotent}
      - {name: pay, type: http, url: "$TOOLS/pay", recovery: unsafe, onUnknown: tell_model}
`

// Each round has a queue of its own, and a worker that is killed at another Redis call of the whole execution.
func TestAWorkerMayDieBetweenAnyTwoOfItsRedisCalls(t *testing.T) {
	t.Parallel()
	stride := 4
	if soak() {
		stride = 1
	}
	rounds := cuts(1, 100, stride)
	tools := harness.Tools(t)
	var agents strings.Builder
	agents.WriteString("agents:\n")
	for i := range rounds {
		agents.WriteString(strings.ReplaceAll(wanderer, "$NAME", fmt.Sprintf("round%d", i)))
	}
	stack := harness.New(t, harness.Config{Agents: agentsFor(tools, agents.String())})
	api := stack.API()
	stack.Reaper()
	expected := undisturbed(t, stack, api, "round0")
	t.Run("killed", func(t *testing.T) {
		for i, cut := range rounds {
			t.Run(cut.String(), func(t *testing.T) {
				t.Parallel()
				dieAt(t, stack.For(t), api.For(t), fmt.Sprintf("round%d", i), cut, expected)
			})
		}
	})
	harness.CheckOnce(t, tools, "/pay")
	harness.CheckEffectIDs(t, tools)
	t.Logf("a worker was killed at %d places; %d tool calls for %d planned", len(rounds), len(tools.Calls("")), 2*len(rounds)+2)
}

func undisturbed(t *testing.T, stack *harness.Stack, api *harness.API, agent string) []execution.EventType {
	t.Helper()
	worker := stack.Worker(serving(agent))
	view := api.Submit(agent, "Oslo, please")
	api.AwaitState(view.ID, endTimeout, execution.Completed)
	worker.StopCleanly()
	return harness.Types(api.Events(view.ID))
}

func serving(queue string) map[string]string {
	return map[string]string{"PAWL_WORKER_QUEUES": queue + "," + queue + execution.NewSuffix}
}

func dieAt(t *testing.T, stack *harness.Stack, api *harness.API, agent string, cut harness.Cut,
	expected []execution.EventType,
) {
	t.Helper()
	proxy := stack.NewProxy()
	victim := stack.Worker(serving(agent), map[string]string{"PAWL_REDIS_URL": proxy.URL})
	proxy.Arm(cut, victim.Kill)
	view := api.Submit(agent, "Oslo, please")
	harness.Eventually(t, endTimeout, "the worker dies, or finishes before its cut", func() bool {
		return !victim.Running() || api.Get(view.ID).State.Terminal()
	})
	victim.Kill()
	rescue := stack.Worker(serving(agent))
	api.AwaitState(view.ID, endTimeout, execution.Completed)
	rescue.StopCleanly()
	events := api.Events(view.ID)
	harness.CheckLog(t, view.ID, events)
	require.Equal(t, expected, withoutWarnings(events), "events are missing or doubled; killed %s: %v", cut, proxy.Commands())
	require.LessOrEqual(t, harness.CountWarnings(events, execution.WarningReclaimed), 1)
	require.Len(t, stack.Checkpoints(view.ID), int(api.Get(view.ID).Step)+1)
}
