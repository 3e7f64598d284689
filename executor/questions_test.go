package executor

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func TestQuestionsAreAskedOneByOneApprovalsFirst(t *testing.T) {
	t.Parallel()
	s := inBatch(t,
		tool("confirm", agent.ReadOnly, asks(local.Question{
			Kind: execution.Elicitation, Prompt: "Book it?", ExpiresAfter: time.Minute, OnExpiry: execution.ExpireFail,
		})),
		tool("confirm2", agent.ReadOnly, asks(local.Question{Kind: execution.Elicitation, Prompt: "Sure?"})),
		tool("login", agent.ReadOnly, asks(local.Question{Kind: execution.Authentication, Prompt: "Log in"})),
		tool("allow", agent.ReadOnly, asks(local.Question{Kind: execution.Approval, Prompt: "May I?"})),
		tool("pay", agent.Unsafe, never(t)), tool("pay2", agent.Unsafe, never(t)), tool("lookup", agent.ReadOnly, says("x")))
	for _, i := range []int{4, 5} {
		s.ledger[i] = planned(t, callOf(i, s.kit.Tools[i].Spec().Name), journal.Started, "1-earlier")
	}
	var order [][]execution.CallID
	a, env := do(t, s)
	require.Len(t, env.receipts, 1, "one question does not stop the other calls")
	for a.then.Kind == journal.ThenPark {
		asked := a.then.Interaction
		order = append(order, a.state.Batch.Asked.Calls)
		require.Equal(t, StatusWaiting, a.state.Status)
		require.Len(t, asked.Calls, len(a.state.Batch.Asked.Calls))
		if asked.Prompt == "Book it?" {
			require.Equal(t, int64(1000+60_000), asked.ExpiresAtMs)
			require.Equal(t, time.Minute, a.then.Wait)
			require.Equal(t, execution.ExpireFail, asked.OnExpiry)
		}
		if asked.Kind == execution.Authentication {
			require.Equal(t, execution.WaitAuth, a.then.WaitKind)
		} else {
			require.Equal(t, execution.WaitInput, a.then.WaitKind)
		}
		a = reply(t, &s, a, answerAll(asked))
	}
	require.Equal(t, [][]execution.CallID{
		{"call_0_4", "call_0_5"}, {"call_0_3"}, {"call_0_0"}, {"call_0_1"}, {"call_0_2"},
	}, order)
	require.Equal(t, PrepareModelRequest, a.node)
	require.Len(t, a.messages, 7, "the results enter the history together, in the batch's order")
	for i, message := range a.messages {
		require.Equal(t, execution.NewCallID(0, i), message.ToolResult.CallID)
	}
	require.Nil(t, a.state.Batch)
	require.Empty(t, NewEvidence(a.node, a.state).Cursor.ToolCallBatchID, "contract A: cleared when the batch ends")
}

func answerAll(asked *execution.Interaction) execution.Input {
	if asked.Kind != execution.Approval {
		return execution.Input{Type: execution.ElicitationResponse, RequestID: asked.RequestID, Text: "yes"}
	}
	input := execution.Input{Type: execution.ToolApproval, RequestID: asked.RequestID}
	for _, call := range asked.Calls {
		input.Decisions = append(input.Decisions, execution.Decision{
			CallID: call.CallID, Decision: execution.Answer, Answer: json.RawMessage(`"by hand"`),
		})
	}
	return input
}

// reply is the step after a reply to what a parked on. It keeps s's ledger up to date.
func reply(t *testing.T, s *situation, a advance, input execution.Input) advance {
	t.Helper()
	payload, err := json.Marshal(input)
	require.NoError(t, err)
	s.step, s.node, s.state = s.step+1, a.node, a.state
	s.inbox = []journal.InboxEntry{{RequestID: a.then.Interaction.RequestID, Payload: payload}}
	env := &fakeEnv{now: 1000}
	for i, call := range s.state.Batch.Calls {
		if call.Status == CallReturned && s.ledger[i].State != journal.Done {
			s.ledger[i] = received(t, callOf(i, call.Name), execution.TextResult(callOf(i, call.Name), "x"))
		}
	}
	next, err := newMachine(*s, env).run(t.Context())
	require.NoError(t, err)
	require.Equal(t, []execution.RequestID{a.then.Interaction.RequestID}, next.consumed, "the entry is used up by the step")
	return next
}

// parked is a batch that asks about an unknown outcome of two calls.
func parked(t *testing.T) (*situation, advance) {
	t.Helper()
	s := inBatch(t, tool("pay", agent.Unsafe, says("paid")), tool("send", agent.Unsafe, says("sent")))
	for i, name := range []string{"pay", "send"} {
		s.ledger[i] = planned(t, callOf(i, name), journal.Started, "1-earlier")
	}
	a, _ := do(t, s)
	return &s, a
}

func decide(asked execution.RequestID, decisions ...execution.Decision) execution.Input {
	return execution.Input{Type: execution.ToolApproval, RequestID: asked, Decisions: decisions}
}

func TestApprovedCallRunsAgainWithTheSameEffectID(t *testing.T) {
	t.Parallel()
	s, a := parked(t)
	next := reply(t, s, a, decide(a.then.Await[0],
		execution.Decision{CallID: "call_0_0", Decision: execution.Approve},
		execution.Decision{CallID: "call_0_1", Decision: execution.Reject, Reason: "no"}))
	require.Equal(t, ToolCall, next.node)
	require.Empty(t, next.events, "no second started event")
	require.Len(t, next.plan, 1)
	require.Equal(t, execution.CallID("call_0_0"), next.plan[0].CallID)
	require.Equal(t, string(s.ledger[0].Intent), string(next.plan[0].Intent), "the same effect id")
	require.Equal(t, CallReturned, next.state.Batch.Calls[1].Status)

	s.step, s.node, s.state = s.step+1, next.node, next.state
	s.ledger[0] = planned(t, callOf(0, "pay"), journal.Planned, "")
	s.ledger[1] = received(t, callOf(1, "send"), execution.ErrorResult(callOf(1, "send"), execution.ToolOutcomeUnknown, "no"))
	last, env := do(t, *s)
	require.Equal(t, []execution.CallID{"call_0_0"}, env.marked)
	require.Equal(t, `"paid"`, string(env.receipts[0].result.Content))
	require.Equal(t, journal.ThenContinue, last.then.Kind)
}

// Case E3: a decision holds for its call; the others of the batch are resolved too.
func TestCaseE3_RejectingOneCallLeavesNoneDangling(t *testing.T) {
	t.Parallel()
	s, a := parked(t)
	next := reply(t, s, a, decide(a.then.Await[0],
		execution.Decision{CallID: "call_0_0", Decision: execution.Reject},
		execution.Decision{CallID: "call_0_1", Decision: execution.Answer, Answer: json.RawMessage(`{"id":7}`)}))
	require.Equal(t, PrepareModelRequest, next.node)
	require.Len(t, next.messages, 2)
	first, second := next.messages[0].ToolResult, next.messages[1].ToolResult
	require.True(t, first.IsError)
	require.Equal(t, execution.ToolOutcomeUnknown, first.ErrorKind)
	require.False(t, second.IsError)
	require.JSONEq(t, `{"id":7}`, string(second.Content))
	require.Equal(t, int64(1), next.state.Usage.ToolCalls)
}

func TestPartialRepliesAddUp(t *testing.T) {
	t.Parallel()
	s, a := parked(t)
	next := reply(t, s, a, decide(a.then.Await[0], execution.Decision{CallID: "call_0_1", Decision: execution.Reject}))
	require.Equal(t, journal.ThenPark, next.then.Kind)
	require.NotEqual(t, a.then.Await, next.then.Await, "a request id is used once")
	require.Equal(t, []execution.CallID{"call_0_0"}, next.state.Batch.Asked.Calls)
	last := reply(t, s, next, decide(next.then.Await[0], execution.Decision{CallID: "call_0_0", Decision: execution.Reject}))
	require.Equal(t, PrepareModelRequest, last.node)
}

func TestExpiredQuestionIsARejection(t *testing.T) {
	t.Parallel()
	s := inBatch(t, tool("confirm", agent.ReadOnly, asks(local.Question{Kind: execution.Elicitation, Prompt: "?"})))
	a, _ := do(t, s)
	next := reply(t, &s, a, execution.Input{Type: "expired", RequestID: a.then.Await[0]})
	require.Equal(t, PrepareModelRequest, next.node)
	require.Equal(t, execution.ToolRejected, next.messages[0].ToolResult.ErrorKind)
}

func TestAnswerToAToolsOwnApproval(t *testing.T) {
	t.Parallel()
	for decision, content := range map[execution.DecisionKind]string{
		execution.Approve: `{"approved":true}`, execution.Answer: `"later"`, execution.Reject: `"a person rejected this call"`,
	} {
		s := inBatch(t, tool("allow", agent.ReadOnly, asks(local.Question{Kind: execution.Approval, Prompt: "May I?"})))
		a, _ := do(t, s)
		next := reply(t, &s, a, decide(a.then.Await[0], execution.Decision{
			CallID: "call_0_0", Decision: decision, Answer: json.RawMessage(`"later"`),
		}))
		require.Equal(t, content, string(next.messages[0].ToolResult.Content))
		require.Equal(t, decision == execution.Reject, next.messages[0].ToolResult.IsError)
	}
}

func TestReplyWhoseReceiptWasWrittenBeforeACrashIsTakenOnce(t *testing.T) {
	t.Parallel()
	s := inBatch(t, tool("confirm", agent.ReadOnly, asks(local.Question{Kind: execution.Elicitation, Prompt: "?"})))
	a, _ := do(t, s)
	s.ledger[0] = received(t, callOf(0, "confirm"), execution.TextResult(callOf(0, "confirm"), "the first reply"))
	next := reply(t, &s, a, execution.Input{Type: execution.ElicitationResponse, Text: "yes"})
	require.Equal(t, `"the first reply"`, string(next.messages[0].ToolResult.Content))
	require.Zero(t, next.state.Usage.ToolCalls, "the row counted it already")
}

func TestOpenQuestionWithoutAReplyIsAskedAgain(t *testing.T) {
	t.Parallel()
	s := inBatch(t, tool("confirm", agent.ReadOnly, asks(local.Question{Kind: execution.Elicitation, Prompt: "?"})))
	a, _ := do(t, s)
	s.step, s.node, s.state = s.step+1, a.node, a.state
	next, _ := do(t, s)
	require.Equal(t, journal.ThenPark, next.then.Kind)
	require.Empty(t, next.consumed)
	require.NotEqual(t, a.then.Await, next.then.Await)
}

func TestToolRetryBudget(t *testing.T) {
	t.Parallel()
	ended := func(used int, kinds ...execution.ToolErrorKind) advance {
		s := at(ToolReturn, func(s *situation) {
			var calls []execution.ToolCall
			for i, kind := range kinds {
				call := callOf(i, "lookup")
				calls = append(calls, call)
				s.ledger = append(s.ledger, received(t, call, execution.ErrorResult(call, kind, "again")))
			}
			s.state.Batch = batchOf(calls...)
			for i := range s.state.Batch.Calls {
				s.state.Batch.Calls[i].Status = CallReturned
			}
			s.state.ToolRetriesUsed = map[string]int{"lookup": used}
			s.kit.Tools = []local.Tool{tool("lookup", "", nil)}
		})
		a, _ := do(t, s)
		return a
	}
	for _, kind := range []execution.ToolErrorKind{execution.ToolInvalidArguments, execution.ToolModelRetry} {
		a := ended(0, kind)
		require.Equal(t, PrepareModelRequest, a.node)
		require.Equal(t, 1, a.state.ToolRetriesUsed["lookup"])
		a = ended(1, kind)
		requireFailure(t, a, execution.CodeToolRetryLimit, "lookup")
		require.Len(t, a.messages, 1, "the results are not lost")
	}
	a := ended(1, execution.ToolExecution, execution.ToolRejected, execution.ToolNotFound)
	require.Equal(t, PrepareModelRequest, a.node, "other errors cost nothing")
	requireFailure(t, ended(0, execution.ToolModelRetry, execution.ToolModelRetry), execution.CodeToolRetryLimit, "lookup")
}
