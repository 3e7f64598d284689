//go:build faultpoint

package fault

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

// cautious asks before it pays and before it sends much.
const cautious = `
agents:
  cautious:
    model:
      provider: scripted
      turns:
        - toolCalls:
            - {name: lookup, arguments: {city: Oslo}}
            - {name: pay, arguments: {amount: 7}}
            - {name: send, arguments: {amount: 700}}
            - {name: send, arguments: {amount: 3}}
        - {text: "Paid."}
    tools:
      - {name: lookup, type: http, url: "$TOOLS/lookup", recovery: idempotent}
      - {name: pay, type: http, url: "$TOOLS/pay", approval: always}
      - name: send
        type: http
        url: "$TOOLS/send"
        parameters: {type: object, properties: {amount: {type: integer, maximum: 1000}}}
        approval: {when: "arguments.amount > 100"}
`

// approval is an execution of cautious that waits for its approvals.
type approval struct {
	stack  *harness.Stack
	tools  *harness.ToolServer
	api    *harness.API
	worker *harness.Process
	view   execution.View
}

func waitsForApproval(t *testing.T, env map[string]string) *approval {
	t.Helper()
	tools := harness.Tools(t)
	stack := harness.New(t, harness.Config{Agents: agentsFor(tools, cautious)})
	a := &approval{stack: stack, tools: tools, api: stack.API()}
	stack.Reaper()
	a.worker = stack.Worker(env)
	a.view = a.api.AwaitState(a.api.Submit("cautious", "Pay it.").ID, endTimeout, execution.WaitingForInput)
	require.Equal(t, execution.Approval, a.view.Interaction.Kind)
	require.Empty(t, a.view.Interaction.Reason)
	require.Len(t, a.view.Interaction.Calls, 2, "all approvals of the batch, and none of the calls that need none")
	require.Empty(t, tools.Calls("/pay"), "nothing is sent before")
	require.Len(t, tools.Calls("/send"), 1, "the others ran meanwhile")
	return a
}

// decide answers the open interaction in the order of its calls.
func (a *approval) decide(decisions ...execution.Decision) {
	input := execution.Input{Type: execution.ToolApproval, RequestID: a.view.Interaction.RequestID}
	for i, decision := range decisions {
		call := a.view.Interaction.Calls[i]
		if decision.Decision == "" {
			continue
		}
		decision.CallID, decision.ArgumentsHash = call.CallID, call.ArgumentsHash
		input.Decisions = append(input.Decisions, decision)
	}
	a.api.Input(a.view.ID, "decide-"+string(input.RequestID), input)
}

// ends checks that each call reached its server as often as it should, with one effect id.
func (a *approval) ends(t *testing.T, pay, send int) {
	t.Helper()
	a.api.AwaitState(a.view.ID, endTimeout, execution.Completed)
	harness.CheckLog(t, a.view.ID, a.api.Events(a.view.ID))
	harness.CheckEffectIDs(t, a.tools)
	require.Len(t, a.tools.Calls("/lookup"), 1, "case B6: a call with a receipt is never entered again")
	require.Len(t, a.tools.Calls("/pay"), pay)
	require.Len(t, a.tools.Calls("/send"), send)
}

var approve = execution.Decision{Decision: execution.Approve}

func TestCaseB6_AWorkerKilledWhileAnApprovalIsOpenLosesNothing(t *testing.T) {
	t.Parallel()
	a := waitsForApproval(t, nil)
	a.worker.Kill()
	a.stack.Worker()
	a.decide(approve, approve)
	a.ends(t, 1, 2)
	require.Zero(t, harness.CountWarnings(a.api.Events(a.view.ID), execution.WarningReclaimed), "a wait holds no worker")
}

// Cases B5 and B6: whoever dies behind an approval, nobody is asked to approve again; what was not marked is sent once,
// and what was marked has an unknown outcome.
func TestCasesB5B6_AWorkerKilledRightAfterAnApprovalKeepsIt(t *testing.T) {
	t.Parallel()
	for point, unknown := range map[string]int{
		"claimed:tool_return": 0, "before_commit:tool_call#2": 0, "after_commit:tool_call#2": 0, "claimed:tool_call#2": 0,
		"tool_started#2": 2, // both were marked, neither was sent
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			a := waitsForApproval(t, harness.AtFault(point))
			a.decide(approve, approve)
			a.worker.WaitFault(point)
			a.stack.Worker()
			if unknown == 0 {
				a.ends(t, 1, 2)
				return
			}
			a.view = a.api.AwaitState(a.view.ID, endTimeout, execution.WaitingForInput)
			require.Equal(t, execution.OutcomeUnknown, a.view.Interaction.Reason, "it is approved already")
			require.Len(t, a.view.Interaction.Calls, unknown)
			require.Empty(t, a.tools.Calls("/pay"))
			a.decide(approve, execution.Decision{Decision: execution.Reject})
			a.ends(t, 1, 1)
		})
	}
}

func TestEditsAndPartialRepliesSurviveTheirWorker(t *testing.T) {
	t.Parallel()
	a := waitsForApproval(t, harness.AtFault("after_commit:tool_call#2"))
	first := a.view.Interaction
	edited := execution.Decision{Decision: execution.Edit, Arguments: json.RawMessage(`{"amount": 40}`)}
	a.decide(execution.Decision{}, edited)
	a.worker.WaitFault("after_commit:tool_call#2")
	a.stack.Worker()
	a.tools.WaitCalls(t, endTimeout, "/send", 2)
	sent := a.tools.Calls("/send")[1]
	require.JSONEq(t, `{"amount":40}`, string(sent.Arguments))
	require.Equal(t, execution.EffectID(a.view.ID, first.Calls[1].CallID), sent.Key)

	a.view = a.api.AwaitState(a.view.ID, endTimeout, execution.WaitingForInput)
	require.NotEqual(t, first.RequestID, a.view.Interaction.RequestID)
	require.Len(t, a.view.Interaction.Calls, 1, "what was not decided is asked again")
	late := a.api.TryInput(a.view.ID, "late", execution.Input{
		Type: execution.ToolApproval, RequestID: first.RequestID,
		Decisions: []execution.Decision{{CallID: first.Calls[0].CallID, Decision: execution.Reject}},
	})
	require.Equal(t, http.StatusConflict, late.Status, "case K2: %s", late.Body)
	require.Contains(t, string(late.Body), "decide-"+string(first.RequestID))
	a.decide(approve)
	a.ends(t, 1, 2)
}
