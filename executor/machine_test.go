package executor

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func TestRunStartEntersTheLoop(t *testing.T) {
	t.Parallel()
	a, _ := do(t, at(RunStart, nil))
	require.Equal(t, PrepareModelRequest, a.node)
	require.Equal(t, journal.ThenContinue, a.then.Kind)
	require.Empty(t, a.events)
}

func TestPrepareOpensTheRequest(t *testing.T) {
	t.Parallel()
	a, _ := do(t, at(PrepareModelRequest, func(s *situation) { s.state.Turn = 2 }))
	require.Equal(t, BeforeModelRequest, a.node)
	require.Equal(t, []execution.Payload{execution.ModelStarted{Turn: 2, InvocationID: "inv_11"}}, a.events)
}

func TestBeforeModelRequestSendsAndApplies(t *testing.T) {
	t.Parallel()
	var sent local.ModelRequest
	a, _ := do(t, at(BeforeModelRequest, func(s *situation) {
		s.state.Usage.Requests, s.state.InvocationID, s.definition.Instructions = 3, "inv_10", "be brief"
		s.kit.Tools = []local.Tool{tool("lookup", "", says("x"))}
		s.kit.Model = fakeModel(func(_ context.Context, r local.ModelRequest) (local.ModelResponse, error) {
			sent = r
			return local.ModelResponse{
				Text: "wait", FinishReason: "tool_calls", Usage: &execution.Usage{InputTokens: 5, OutputTokens: 2},
				ToolCalls: []execution.ToolCall{
					{Name: "lookup", Arguments: json.RawMessage(`{"city":"Oslo"}`), ProviderID: "p1"},
					{Name: "lookup"},
					{Name: "lookup", Arguments: json.RawMessage(`{"cut off`)},
				},
			}, nil
		})
	}))
	require.Equal(t, 3, sent.Attempt, "failed attempts are counted")
	require.Equal(t, string(testID)+":inv_10:1-n", sent.InvocationID)
	require.Equal(t, "be brief", sent.Instructions)
	require.Len(t, sent.Tools, 1)
	require.Len(t, sent.Messages, 1)

	require.Equal(t, ModelResponse, a.node)
	require.Equal(t, 1, a.state.Turn)
	require.Equal(t, execution.Usage{Requests: 4, InputTokens: 5, OutputTokens: 2, TotalTokens: 7}, a.state.Usage)
	require.Len(t, a.messages, 1)
	require.Equal(t, execution.RoleAssistant, a.messages[0].Role)
	require.Equal(t, execution.Step(11), *a.messages[0].Step)
	require.Equal(t, 2, a.state.MessageCount)
	calls := a.messages[0].ToolCalls
	require.Equal(t, execution.CallID("call_0_0"), calls[0].CallID)
	require.Equal(t, "p1", calls[0].ProviderID)
	require.JSONEq(t, `{}`, string(calls[1].Arguments))
	require.JSONEq(t, `"{\"cut off"`, string(calls[2].Arguments), "the history stays JSON")
	five, two := int64(5), int64(2)
	require.Equal(t, []execution.Payload{execution.ModelCompleted{
		Turn: 0, InvocationID: "inv_10", FinishReason: "tool_calls", InputTokens: &five, OutputTokens: &two,
	}}, a.events)
}

func failingModel(err error, change func(*situation)) func(*situation) {
	return func(s *situation) {
		s.kit.Model = fakeModel(func(context.Context, local.ModelRequest) (local.ModelResponse, error) {
			return local.ModelResponse{}, err
		})
		if change != nil {
			change(s)
		}
	}
}

func TestTransientModelErrorIsTriedAgain(t *testing.T) {
	t.Parallel()
	limited := &local.Error{Kind: local.Transient, Code: "rate_limited", Message: "slow down", RetryAfter: 2 * time.Second}
	a, _ := do(t, at(BeforeModelRequest, failingModel(limited, func(s *situation) { s.attempts = 1 })))
	require.Equal(t, &journal.Retry{Node: "before_model_request", Code: "rate_limited", Message: "slow down", After: 3 * time.Second},
		a.back.retry, "the back-off of the second failure comes on top of the server's wish")
	require.Equal(t, int64(1), a.state.Usage.Requests, "a failed attempt is charged")

	a, _ = do(t, at(BeforeModelRequest, failingModel(limited, func(s *situation) { s.attempts = 4 })))
	require.Nil(t, a.back.retry)
	require.Equal(t, execution.ReasonRetriesExhausted, a.back.suspension.Reason, "the fifth failure suspends")
	require.Equal(t, "before_model_request: rate_limited: slow down", a.back.suspension.Detail)
}

func TestPermanentModelErrorFailsWithItsCode(t *testing.T) {
	t.Parallel()
	a, _ := do(t, at(BeforeModelRequest, failingModel(&local.Error{Kind: local.Permanent, Code: "unauthorized", Message: "no"}, nil)))
	requireFailure(t, a, "unauthorized", "no")
	a, _ = do(t, at(BeforeModelRequest, failingModel(errors.New("boom"), nil)))
	requireFailure(t, a, execution.CodeModelError, "the model request failed")
}

func requireFailure(t *testing.T, a advance, code, message string) {
	t.Helper()
	require.Nil(t, a.back)
	require.Equal(t, RunFailed, a.node)
	require.Equal(t, StatusFailed, a.state.Status)
	require.Equal(t, journal.ThenEnd, a.then.Kind)
	require.Equal(t, code, a.then.Failure.Code)
	require.Contains(t, a.then.Failure.Message, message)
}

func TestPanickingModelIsTransient(t *testing.T) {
	t.Parallel()
	a, _ := do(t, at(BeforeModelRequest, func(s *situation) {
		s.kit.Model = fakeModel(func(context.Context, local.ModelRequest) (local.ModelResponse, error) { panic("no") })
	}))
	require.Equal(t, "panic", a.back.retry.Code)
}

func TestUnreadableAnswerIsAskedForAgainTwice(t *testing.T) {
	t.Parallel()
	malformed := &local.Error{Kind: local.Permanent, Code: local.CodeMalformedResponse, Message: "not JSON"}
	a, _ := do(t, at(BeforeModelRequest, failingModel(malformed, func(s *situation) { s.state.ModelErrorRetriesUsed = 1 })))
	require.Equal(t, PrepareModelRequest, a.node)
	require.Equal(t, 0, a.state.Turn, "it counts as no turn")
	require.Equal(t, 2, a.state.ModelErrorRetriesUsed)
	require.Equal(t, resumePrompt, a.messages[0].Text)
	a, _ = do(t, at(BeforeModelRequest, failingModel(malformed, func(s *situation) { s.state.ModelErrorRetriesUsed = 2 })))
	requireFailure(t, a, local.CodeMalformedResponse, "not JSON")
}

func TestInterruptedModelRequestIsChargedAndStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	s := at(BeforeModelRequest, func(s *situation) {
		s.kit.Model = fakeModel(func(ctx context.Context, _ local.ModelRequest) (local.ModelResponse, error) {
			cancel(ErrUserCancel)
			return local.ModelResponse{}, &local.Error{Kind: local.Transient, Code: "closed", Err: ctx.Err()}
		})
	})
	a, err := newMachine(s, &fakeEnv{}).run(ctx)
	require.ErrorIs(t, err, ErrUserCancel)
	require.Equal(t, int64(1), a.state.Usage.Requests)
}

func TestDeadlineEndsTheRun(t *testing.T) {
	t.Parallel()
	a, _ := do(t, at(PrepareModelRequest, func(s *situation) { s.deadlineAtMs = 1000 }))
	requireFailure(t, a, execution.CodeDeadlineExceeded, "deadline")

	ctx, cancel := context.WithCancelCause(t.Context())
	s := at(BeforeModelRequest, func(s *situation) {
		s.kit.Model = fakeModel(func(ctx context.Context, _ local.ModelRequest) (local.ModelResponse, error) {
			cancel(ErrDeadline)
			return local.ModelResponse{}, ctx.Err()
		})
	})
	a, err := newMachine(s, &fakeEnv{}).run(ctx)
	require.NoError(t, err)
	requireFailure(t, a, execution.CodeDeadlineExceeded, "deadline")
	require.Equal(t, int64(1), a.state.Usage.Requests)
}

func TestModelResponseDecides(t *testing.T) {
	t.Parallel()
	a, _ := do(t, at(ModelResponse, func(s *situation) { s.state.Response = &Response{Text: "hi"} }))
	require.Equal(t, ValidateOutput, a.node)

	calls := []execution.ToolCall{callOf(0, "lookup"), callOf(1, "other")}
	withCalls := func(s *situation) { s.state.Turn, s.state.Response = 1, &Response{ToolCalls: calls} }
	a, _ = do(t, at(ModelResponse, withCalls))
	requireFailure(t, a, execution.CodeNoTools, "no")
	require.Len(t, a.messages, 2, "the history is left without a dangling call")

	a, _ = do(t, at(ModelResponse, func(s *situation) {
		withCalls(s)
		s.kit.Tools = []local.Tool{tool("lookup", "", nil)}
	}))
	require.Equal(t, ToolCall, a.node)
	require.Equal(t, "tool_batch_1", a.state.Batch.ID)
	require.Nil(t, a.state.Response)
	require.Len(t, a.plan, 2)
	first, err := decodeIntent(testID, journal.LedgerEntry{CallID: a.plan[0].CallID, Intent: a.plan[0].Intent})
	require.NoError(t, err)
	require.Equal(t, string(testID)+":call_0_0", first.EffectID)
	require.Equal(t, calls[0], first.Call)
	require.Equal(t, []execution.Payload{
		execution.ToolStarted{CallID: "call_0_0", Name: "lookup"}, execution.ToolStarted{CallID: "call_0_1", Name: "other"},
	}, a.events)
}

func TestValidateOutput(t *testing.T) {
	t.Parallel()
	a, _ := do(t, at(ValidateOutput, func(s *situation) { s.state.Response = &Response{Text: "hi"} }))
	require.Equal(t, RunComplete, a.node)
	require.Equal(t, StatusCompleted, a.state.Status)
	require.Equal(t, &execution.Outcome{Answer: "hi"}, a.then.Outcome)

	schema := json.RawMessage(`{"type":"object","required":["city"],"properties":{"city":{"type":"string"}}}`)
	answer := func(text string, used int) situation {
		return at(ValidateOutput, func(s *situation) {
			s.definition.OutputSchema, s.state.OutputRetriesUsed = schema, used
			s.state.Response = &Response{Text: text}
		})
	}
	a, _ = do(t, answer(`{"city": "Oslo"}`, 1))
	require.Equal(t, json.RawMessage(`{"city":"Oslo"}`), a.then.Outcome.Output)
	for _, bad := range []string{`{"city": 7}`, `Oslo`, ``, `{"city":"Oslo"} and more`} {
		a, _ = do(t, answer(bad, 0))
		require.Equal(t, PrepareModelRequest, a.node, bad)
		require.Equal(t, 1, a.state.OutputRetriesUsed)
		require.Contains(t, a.messages[0].Text, "schema")
		a, _ = do(t, answer(bad, 1))
		requireFailure(t, a, execution.CodeOutputRetryLimit, "schema")
	}
	require.ErrorContains(t, (*schemas)(nil).fits(json.RawMessage(`{"$ref":"file:///etc/passwd"}`), []byte(`1`)), "schema")
}

// Case J3: a request that would pass a limit is not sent, and what was used is settled after it.
func TestCaseJ3_LimitsAreCheckedBeforeAndSettledAfter(t *testing.T) {
	t.Parallel()
	lookup := tool("lookup", "", says("x"))
	for name, c := range map[string]struct {
		node   Node
		limits execution.Limits
		usage  execution.Usage
		turn   int
		within bool
	}{
		"maxTurns at the top":                        {node: RunStart, limits: execution.Limits{MaxTurns: 2}, turn: 2},
		"maxTurns with one left":                     {node: RunStart, limits: execution.Limits{MaxTurns: 2}, turn: 1, within: true},
		"maxModelRequests before a request":          {node: PrepareModelRequest, limits: execution.Limits{MaxModelRequests: 3}, usage: execution.Usage{Requests: 3}},
		"maxModelRequests right before the send":     {node: BeforeModelRequest, limits: execution.Limits{MaxModelRequests: 3}, usage: execution.Usage{Requests: 3}},
		"maxModelRequests with one left":             {node: PrepareModelRequest, limits: execution.Limits{MaxModelRequests: 3}, usage: execution.Usage{Requests: 2}, within: true},
		"maxInputTokens used up before a request":    {node: PrepareModelRequest, limits: execution.Limits{MaxInputTokens: 9}, usage: execution.Usage{InputTokens: 9}},
		"maxOutputTokens used up before a request":   {node: PrepareModelRequest, limits: execution.Limits{MaxOutputTokens: 9}, usage: execution.Usage{OutputTokens: 9}},
		"maxTotalTokens used up before a request":    {node: PrepareModelRequest, limits: execution.Limits{MaxTotalTokens: 9}, usage: execution.Usage{TotalTokens: 9}},
		"maxInputTokens passed by a response":        {node: ModelResponse, limits: execution.Limits{MaxInputTokens: 9}, usage: execution.Usage{InputTokens: 10}},
		"maxOutputTokens passed by a response":       {node: ModelResponse, limits: execution.Limits{MaxOutputTokens: 9}, usage: execution.Usage{OutputTokens: 10}},
		"maxTotalTokens passed by a response":        {node: ModelResponse, limits: execution.Limits{MaxTotalTokens: 9}, usage: execution.Usage{TotalTokens: 10}},
		"maxTotalTokens met exactly by a response":   {node: ModelResponse, limits: execution.Limits{MaxTotalTokens: 9}, usage: execution.Usage{TotalTokens: 9}, within: true},
		"maxToolCalls projected before the batch":    {node: ModelResponse, limits: execution.Limits{MaxToolCalls: 2}, usage: execution.Usage{ToolCalls: 1}},
		"maxToolCalls met exactly, unknown ones out": {node: ModelResponse, limits: execution.Limits{MaxToolCalls: 2}, within: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			build := func(suspend bool) situation {
				return at(c.node, func(s *situation) {
					s.state.Limits, s.state.Usage, s.state.Turn = c.limits, c.usage, c.turn
					s.state.Limits.SuspendOnExceeded = suspend
					s.kit.Tools = []local.Tool{lookup}
					s.state.Response = &Response{ToolCalls: []execution.ToolCall{
						callOf(0, "lookup"), callOf(1, "lookup"), callOf(2, "nobody"),
					}}
				})
			}
			a, env := do(t, build(false))
			if c.within {
				require.NotEqual(t, RunFailed, a.node)
				return
			}
			requireFailure(t, a, execution.CodeUsageLimitExceeded, "limit reached: "+strings.Fields(name)[0])
			require.Empty(t, env.marked, "nothing was sent")
			a, _ = do(t, build(true))
			require.Equal(t, execution.ReasonLimit, a.back.suspension.Reason)
		})
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	full := func(limit time.Duration) time.Duration { return limit }
	least := func(time.Duration) time.Duration { return 0 }
	for failures, want := range map[int]time.Duration{
		1: 500 * time.Millisecond, 2: time.Second, 3: 2 * time.Second, 7: 32 * time.Second, 8: time.Minute, 60: time.Minute,
	} {
		require.Equal(t, want, backoff(failures, 0, full))
	}
	require.Positive(t, backoff(1, 0, least), "case J1: the jitter is positive")
	require.Greater(t, backoff(1, 10*time.Minute, least), 10*time.Minute, "case J1: it comes on top of Retry-After")
}

// Case E2: an unanswered call in the history must not reach the provider.
func TestCaseE2_DanglingCallsAreRepairedInTheTranscript(t *testing.T) {
	t.Parallel()
	a, b := callOf(0, "lookup"), callOf(1, "pay")
	assistant := execution.Message{Role: execution.RoleAssistant, ToolCalls: []execution.ToolCall{a, b}}
	result := resultMessage(execution.TextResult(b, "paid"))
	user := execution.Message{Role: execution.RoleUser, Text: "and?"}
	missing := resultMessage(unanswered(a))
	for name, c := range map[string]struct{ history, want []execution.Message }{
		"no answer at the end":    {[]execution.Message{user, assistant}, []execution.Message{user, assistant, missing, resultMessage(unanswered(b))}},
		"one of two answered":     {[]execution.Message{assistant, result}, []execution.Message{assistant, missing, result}},
		"a message in between":    {[]execution.Message{assistant, user, result}, []execution.Message{assistant, missing, result, user}},
		"answered twice":          {[]execution.Message{assistant, result, result}, []execution.Message{assistant, missing, result}},
		"a result without a call": {[]execution.Message{user, result}, []execution.Message{user}},
		"the same ids in another execution": {
			[]execution.Message{assistant, assistant, result},
			[]execution.Message{assistant, missing, resultMessage(unanswered(b)), assistant, missing, result},
		},
	} {
		require.Equal(t, c.want, repair(c.history), name)
	}

	var sent []execution.Message
	do(t, at(BeforeModelRequest, func(s *situation) {
		s.messages = []execution.Message{user, assistant}
		s.kit.Model = fakeModel(func(_ context.Context, r local.ModelRequest) (local.ModelResponse, error) {
			sent = r.Messages
			return local.ModelResponse{Text: "ok"}, nil
		})
	}))
	require.Len(t, sent, 4)
}
