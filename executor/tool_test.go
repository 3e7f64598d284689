package executor

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func TestBatchRunsConcurrentlyWithAReceiptPerCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		meet := make(chan struct{})
		together := func(ctx context.Context, call local.Invocation) (local.Answer, error) {
			select {
			case meet <- struct{}{}:
			case <-meet:
			}
			return says("ok")(ctx, call)
		}
		a, env := do(t, inBatch(t, tool("one", agent.ReadOnly, together), tool("two", agent.Unsafe, together)))
		require.Equal(t, ToolReturn, a.node)
		require.Equal(t, journal.ThenContinue, a.then.Kind)
		require.Equal(t, []execution.CallID{"call_0_1"}, env.marked, "only unsafe and reconcile calls are marked")
		require.Len(t, env.receipts, 2)
		require.Equal(t, int64(1), env.receipts[0].usage.ToolCalls)
		require.Equal(t, int64(2), env.receipts[1].usage.ToolCalls)
		require.Equal(t, int64(2), a.state.Usage.ToolCalls)
		require.Empty(t, a.state.Batch.in(CallOutstanding))
		require.Empty(t, a.messages, "results enter the history when the batch ends")
	})
}

func TestUnsafeAndReconcileAreMarkedOnceForTheBatch(t *testing.T) {
	t.Parallel()
	_, env := do(t, inBatch(t,
		tool("a", agent.Unsafe, says("1")), tool("b", agent.Reconcile, says("2")), tool("c", "", says("3")),
		tool("d", agent.Idempotent, says("4"))))
	require.Equal(t, []execution.CallID{"call_0_0", "call_0_1", "call_0_2"}, env.marked, "unsafe is the default")
}

// Case B6: a call with a receipt is never entered again.
func TestCaseB6_ReceiptsAreNotRunAgain(t *testing.T) {
	t.Parallel()
	for _, recovery := range []agent.Recovery{agent.ReadOnly, agent.Idempotent, agent.Reconcile, agent.Unsafe} {
		var calls atomic.Int64
		counted := tool("pay", recovery, func(ctx context.Context, call local.Invocation) (local.Answer, error) {
			calls.Add(1)
			return says("again")(ctx, call)
		})
		s := inBatch(t, counted)
		s.ledger[0] = received(t, callOf(0, "pay"), execution.TextResult(callOf(0, "pay"), "paid"))
		a, env := do(t, s)
		require.Equal(t, ToolReturn, a.node)
		require.Zero(t, calls.Load())
		require.Empty(t, env.receipts)
		require.Empty(t, env.marked)
	}
}

// Case B7: intent is written ahead and the same effect id reaches the tool however often the call is sent.
func TestCaseB7_TheEffectIDReachesTheTool(t *testing.T) {
	t.Parallel()
	var effect string
	do(t, inBatch(t, tool("pay", agent.Idempotent, func(ctx context.Context, call local.Invocation) (local.Answer, error) {
		effect = call.EffectID
		require.Equal(t, testID, call.Execution)
		return says("ok")(ctx, call)
	})))
	require.Equal(t, string(testID)+":call_0_0", effect)
}

// startedEarlier is a batch of one call that an earlier claim marked and left without receipt.
func startedEarlier(t *testing.T, f *fakeTool) situation {
	t.Helper()
	s := inBatch(t, f)
	s.ledger[0] = planned(t, callOf(0, f.spec.Name), journal.Started, "1-earlier")
	return s
}

func never(t *testing.T) func(context.Context, local.Invocation) (local.Answer, error) {
	t.Helper()
	return func(context.Context, local.Invocation) (local.Answer, error) {
		t.Error("the tool must not be called")
		return local.Answer{}, nil
	}
}

// Case B5: a call that must not be repeated and may have happened is decided by a person, not retried.
func TestCaseB5_UnknownOutcomeAsks(t *testing.T) {
	t.Parallel()
	a, env := do(t, startedEarlier(t, tool("restore", agent.Unsafe, never(t))))
	require.Equal(t, ToolReturn, a.node)
	require.Equal(t, StatusWaiting, a.state.Status)
	require.Equal(t, journal.ThenPark, a.then.Kind)
	asked := a.then.Interaction
	require.Equal(t, execution.Approval, asked.Kind)
	require.Equal(t, execution.OutcomeUnknown, asked.Reason)
	require.Equal(t, execution.RequestID("req_11_0"), asked.RequestID)
	require.Equal(t, []execution.InteractionCall{{
		CallID: "call_0_0", Name: "restore", Arguments: json.RawMessage(`{"a":1}`), ArgumentsHash: argumentsHash([]byte(`{"a":1}`)),
	}}, asked.Calls)
	require.Equal(t, []execution.RequestID{asked.RequestID}, a.then.Await)
	require.Empty(t, env.marked)
	require.Equal(t, 1, NewEvidence(a.node, a.state).PendingApprovalCount)
}

func TestUnknownOutcomeFails(t *testing.T) {
	t.Parallel()
	f := tool("pay", agent.Unsafe, never(t))
	f.spec.OnUnknown = agent.UnknownFail
	a, _ := do(t, startedEarlier(t, f))
	requireFailure(t, a, execution.CodeOutcomeUnknown, "pay")
	require.Len(t, a.messages, 1)
	require.True(t, a.messages[0].ToolResult.IsError)
	require.Nil(t, a.state.Batch)
}

func TestUnknownOutcomeTellsTheModel(t *testing.T) {
	t.Parallel()
	f := tool("pay", agent.Unsafe, never(t))
	f.spec.OnUnknown = agent.UnknownTellModel
	a, env := do(t, startedEarlier(t, f))
	require.Equal(t, ToolReturn, a.node)
	require.Equal(t, execution.ToolOutcomeUnknown, env.receipts[0].result.ErrorKind)
	require.Equal(t, execution.ToolCompleted{CallID: "call_0_0", Name: "pay", Failed: true}, env.receipts[0].event)
	require.Zero(t, a.state.Usage.ToolCalls, "only successful calls count")
}

func TestStartedCallsThatMayBeRepeatedRunAgain(t *testing.T) {
	t.Parallel()
	for _, recovery := range []agent.Recovery{agent.ReadOnly, agent.Idempotent} {
		_, env := do(t, startedEarlier(t, tool("lookup", recovery, says("ok"))))
		require.Len(t, env.receipts, 1)
	}
}

func TestUnknownOutcomeOfAToolThatIsGoneAsks(t *testing.T) {
	t.Parallel()
	s := startedEarlier(t, tool("pay", agent.Unsafe, never(t)))
	s.kit.Tools = []local.Tool{tool("other", "", never(t))}
	a, _ := do(t, s)
	require.Equal(t, execution.OutcomeUnknown, a.then.Interaction.Reason)
}

func TestReconcileAsksItsProbe(t *testing.T) {
	t.Parallel()
	done := execution.TextResult(callOf(0, "refund"), "refunded before")
	for name, c := range map[string]struct {
		probe   local.ProbeResult
		err     error
		content string
		retry   string
	}{
		"done: its result is taken": {probe: local.ProbeResult{State: local.ProbeDone, Result: &done}, content: `"refunded before"`},
		"absent: it is sent":        {probe: local.ProbeResult{State: local.ProbeAbsent}, content: `"refunded now"`},
		"pending: asked later":      {probe: local.ProbeResult{State: local.ProbePending}, retry: "outcome_pending"},
		"the probe fails":           {err: errors.New("down"), retry: "probe_failed"},
	} {
		f := tool("refund", agent.Reconcile, says("refunded now"))
		f.probe = func(_ context.Context, call local.Invocation) (local.ProbeResult, error) {
			require.Equal(t, string(testID)+":call_0_0", call.EffectID)
			return c.probe, c.err
		}
		a, env := do(t, startedEarlier(t, f))
		if c.retry != "" {
			require.Equal(t, c.retry, a.back.retry.Code, name)
			require.Empty(t, a.back.unsent, "%s: the mark stays", name)
			continue
		}
		require.Equal(t, c.content, string(env.receipts[0].result.Content), name)
		require.Empty(t, env.marked, "%s: the mark stays", name)
	}
}

func TestErrorsOfACallInFlight(t *testing.T) {
	t.Parallel()
	of := func(kind local.ErrorKind) error {
		return &local.Error{Kind: kind, Code: "down", Message: "it is down", RetryAfter: time.Second}
	}
	for _, recovery := range []agent.Recovery{agent.ReadOnly, agent.Idempotent, agent.Reconcile, agent.Unsafe} {
		a, _ := do(t, inBatch(t, tool("pay", recovery, fails(of(local.Transient)))))
		require.Equal(t, "down", a.back.retry.Code, "transient errors are tried again for every class")
		marked := recovery == agent.Reconcile || recovery == agent.Unsafe
		require.Equal(t, marked, len(a.back.unsent) == 1, "what was never sent may be sent: %s", recovery)

		a, env := do(t, inBatch(t, tool("pay", recovery, fails(of(local.Permanent)))))
		require.Equal(t, ToolReturn, a.node)
		require.Equal(t, execution.ToolExecution, env.receipts[0].result.ErrorKind)

		a, _ = do(t, inBatch(t, tool("pay", recovery, fails(of(local.Unknown)))))
		if recovery == agent.Unsafe {
			require.Equal(t, execution.OutcomeUnknown, a.then.Interaction.Reason)
		} else {
			require.Equal(t, "down", a.back.retry.Code)
			require.Empty(t, a.back.unsent, "it may have happened: reconcile asks its probe")
		}
	}
}

func TestPanickingToolIsItsCallsFailure(t *testing.T) {
	t.Parallel()
	panics := func(context.Context, local.Invocation) (local.Answer, error) { panic("oh") }
	a, env := do(t, inBatch(t, tool("pay", agent.Unsafe, panics), tool("lookup", agent.ReadOnly, says("ok"))))
	require.Equal(t, execution.OutcomeUnknown, a.then.Interaction.Reason)
	require.Len(t, env.receipts, 1, "the call beside it is not touched")
	a, _ = do(t, inBatch(t, tool("lookup", agent.ReadOnly, panics)))
	require.Equal(t, "panic", a.back.retry.Code)
}

func TestToolTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hangs := func(ctx context.Context, _ local.Invocation) (local.Answer, error) {
			<-ctx.Done()
			return local.Answer{}, ctx.Err()
		}
		slow := tool("pay", agent.Unsafe, hangs)
		slow.spec.Timeout = time.Minute
		began := time.Now()
		a, _ := do(t, inBatch(t, slow))
		require.Equal(t, time.Minute, time.Since(began))
		require.Equal(t, execution.OutcomeUnknown, a.then.Interaction.Reason)
		slow.spec.Recovery = agent.ReadOnly
		a, _ = do(t, inBatch(t, slow))
		require.NotNil(t, a.back.retry)
	})
}

func TestOneRetryForTheWholeBatchKeepsTheReceipts(t *testing.T) {
	t.Parallel()
	a, env := do(t, inBatch(t,
		tool("ok", agent.Unsafe, says("1")),
		tool("busy", agent.Unsafe, fails(&local.Error{Kind: local.Transient, Code: "busy"})),
		tool("limited", agent.Unsafe, fails(&local.Error{Kind: local.Transient, Code: "limited", RetryAfter: time.Hour}))))
	require.Len(t, env.receipts, 1)
	require.Equal(t, "limited", a.back.retry.Code, "the longest wish holds for all")
	require.Greater(t, a.back.retry.After, time.Hour)
	require.Equal(t, []execution.CallID{"call_0_1", "call_0_2"}, a.back.unsent)
	require.Equal(t, int64(1), a.state.Usage.ToolCalls)
}

func TestCallsThatNoToolUnderstands(t *testing.T) {
	t.Parallel()
	strict := tool("lookup", agent.Unsafe, never(t))
	strict.spec.Parameters = json.RawMessage(`{"type":"object","required":["city"]}`)
	s := inBatch(t, strict)
	gone := callOf(1, "gone")
	s.ledger = append(s.ledger, planned(t, gone, journal.Planned, ""))
	text := execution.ToolCall{CallID: "call_0_2", Name: "loose", Arguments: json.RawMessage(`"cut"`)}
	s.ledger = append(s.ledger, planned(t, text, journal.Planned, ""))
	s.kit.Tools = append(s.kit.Tools, tool("loose", agent.ReadOnly, never(t)))
	s.state.Batch = batchOf(callOf(0, "lookup"), gone, text)
	a, env := do(t, s)
	require.Equal(t, ToolReturn, a.node)
	require.Empty(t, env.marked)
	kinds := map[execution.CallID]execution.ToolErrorKind{}
	for _, r := range env.receipts {
		kinds[r.result.CallID] = r.result.ErrorKind
	}
	require.Equal(t, map[execution.CallID]execution.ToolErrorKind{
		"call_0_0": execution.ToolInvalidArguments, "call_0_1": execution.ToolNotFound,
		"call_0_2": execution.ToolInvalidArguments,
	}, kinds)
}

func TestNothingIsSentWhenTheClaimIsNoLongerSure(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ErrTrustEnded)
	a, err := newMachine(inBatch(t, tool("pay", agent.Unsafe, never(t))), &fakeEnv{sure: ErrTrustEnded}).run(ctx)
	require.ErrorIs(t, err, ErrTrustEnded)
	require.Equal(t, []execution.CallID{"call_0_0"}, a.back.unsent, "marked and never sent: no false alarm")
}

func TestInterruptedCallHasNoReceipt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	env := &fakeEnv{}
	broken := func(context.Context, local.Invocation) (local.Answer, error) {
		cancel(ErrUserCancel)
		return local.Answer{}, &local.Error{Kind: local.Unknown, Code: "broken"}
	}
	a, err := newMachine(inBatch(t, tool("pay", agent.Unsafe, broken)), env).run(ctx)
	require.ErrorIs(t, err, ErrUserCancel)
	require.Empty(t, env.receipts)
	require.Empty(t, a.back.unsent, "it was sent")
}

func TestTheStoresErrorStopsTheBatch(t *testing.T) {
	t.Parallel()
	_, err := newMachine(inBatch(t, tool("pay", agent.Unsafe, never(t))), &fakeEnv{record: journal.ErrFenced}).run(t.Context())
	require.ErrorIs(t, err, journal.ErrFenced)
	_, err = newMachine(inBatch(t, tool("get", agent.ReadOnly, says("x"))), &fakeEnv{record: journal.ErrFenced}).run(t.Context())
	require.ErrorIs(t, err, journal.ErrFenced)
}
