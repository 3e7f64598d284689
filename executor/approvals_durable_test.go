package executor

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// asksFirst is an execution that waits for the approval of a payment, with the tool that pays.
func asksFirst(t *testing.T, rule agent.Approval) (*world, *fakeTool) {
	t.Helper()
	pay := tool("pay", agent.Unsafe, says("paid"))
	pay.spec.Approval = rule
	w := newWorld(t, &agent.Definition{}, &local.Kit{Model: script(calling("pay"), text("end")), Tools: []local.Tool{pay}}, nil)
	require.Equal(t, execution.WaitingForInput, w.drive().State)
	require.Equal(t, execution.Approval, w.row().PendingInteraction.Kind)
	return w, pay
}

func TestExpiryOfAnApproval(t *testing.T) {
	t.Parallel()
	for onExpiry, check := range map[execution.OnExpiry]func(t *testing.T, w *world){
		execution.ExpireReject: func(t *testing.T, w *world) {
			t.Helper()
			row := w.drive()
			require.Equal(t, execution.Completed, row.State)
			require.Zero(t, row.Usage.ToolCalls)
			require.Equal(t, execution.ToolRejected, w.history()[2].ToolResult.ErrorKind)
		},
		execution.ExpireFail: func(t *testing.T, w *world) {
			t.Helper()
			row := w.drive()
			require.Equal(t, execution.Failed, row.State)
			require.Equal(t, execution.CodeInteractionExpired, row.Failure.Code)
		},
		execution.ExpireSuspend: func(t *testing.T, w *world) {
			t.Helper()
			require.Equal(t, execution.Suspended, w.drive().State)
			change, err := w.store.Resume(t.Context(), w.id, journal.Resumption{})
			require.NoError(t, err)
			require.Equal(t, execution.WaitingForInput, change.Execution.State, "it is asked still, without an end")
			w.answer(decide("", execution.Decision{CallID: "call_0_0", Decision: execution.Approve}))
			row := w.drive()
			require.Equal(t, execution.Completed, row.State)
			require.Equal(t, int64(1), row.Usage.ToolCalls)
		},
	} {
		t.Run(string(onExpiry), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, _ := asksFirst(t, agent.Approval{Always: true, ExpiresAfter: time.Minute, OnExpiry: onExpiry})
				require.Equal(t, time.Now().Add(time.Minute).UnixMilli(), w.row().PendingInteraction.ExpiresAtMs)
				<-time.After(61 * time.Second)
				w.sweep()
				check(t, w)
			})
		})
	}
}

func TestCancelWhileAnApprovalIsOpenSendsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, pay := asksFirst(t, agent.Approval{Always: true})
		pay.call = never(t)
		change, err := w.store.Cancel(t.Context(), w.id)
		require.NoError(t, err)
		require.Equal(t, execution.Canceled, change.Execution.State)
	})
}

func TestPauseWhileAnApprovalIsOpenKeepsIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, _ := asksFirst(t, agent.Approval{When: "arguments.amount > 5 || !has(arguments.amount)"})
		open := w.row().PendingInteraction.RequestID
		_, err := w.store.Pause(t.Context(), w.id)
		require.NoError(t, err)
		require.Equal(t, execution.Suspended, w.drive().State)
		_, err = w.store.Resume(t.Context(), w.id, journal.Resumption{})
		require.NoError(t, err)
		require.Equal(t, open, w.row().PendingInteraction.RequestID)
		w.answer(decide("", execution.Decision{
			CallID: "call_0_0", Decision: execution.Edit, Arguments: json.RawMessage(`{"amount":3}`),
		}))
		require.Equal(t, execution.Completed, w.drive().State)
		require.JSONEq(t, `{"amount":3}`, string(w.history()[2].ToolResult.Arguments))
	})
}
