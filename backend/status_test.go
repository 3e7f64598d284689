package backend_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/backend"
)

func ptr[T any](v T) *T { return &v }

func TestContractB_RunStatusDisplay(t *testing.T) {
	t.Parallel()
	t.Run("BackendRunStatus display", func(t *testing.T) {
		t.Parallel()
		for want, status := range map[string]backend.RunStatus{
			"completed":            backend.CompletedStatus(),
			"waiting_input":        backend.WaitingInputStatus(nil),
			"waiting_input: msg":   backend.WaitingInputStatus(ptr("msg")),
			"waiting_input: ":      backend.WaitingInputStatus(ptr("")),
			"waiting_auth":         backend.WaitingAuthStatus(nil),
			"waiting_auth: log in": backend.WaitingAuthStatus(ptr("log in")),
			"suspended":            backend.SuspendedStatus(nil),
			"suspended: later":     backend.SuspendedStatus(ptr("later")),
			"failed: boom":         backend.FailedStatus("boom"),
			"failed: ":             backend.FailedStatus(""),
			"canceled":             backend.CanceledStatus(),
			"timeout":              backend.TimeoutStatus(),
		} {
			require.Equal(t, want, status.String())
		}
	})
}

type statusCase struct {
	row           string
	status        backend.RunStatus
	termination   backend.TerminationReason
	durable       backend.DurableStatus
	reason, label string
}

func statusCases() []statusCase {
	natural := backend.TerminationReason{Kind: backend.NaturalEnd}
	failed := backend.TerminationReason{Kind: backend.TermError, Detail: "boom"}
	suspended := backend.TerminationReason{Kind: backend.TermSuspended}
	return []statusCase{
		{"waiting wins over an error", backend.WaitingInputStatus(nil), failed, backend.DurableWaiting, "input_required", "waiting_input"},
		{"waiting for auth", backend.WaitingAuthStatus(ptr("x")), natural, backend.DurableWaiting, "auth_required", "waiting_auth"},
		{"suspended", backend.SuspendedStatus(nil), suspended, backend.DurableWaiting, "suspended", "suspended"},
		{"failed", backend.FailedStatus("x"), natural, backend.DurableDone, "error", "failed"},
		{"canceled", backend.CanceledStatus(), natural, backend.DurableDone, "canceled", "canceled"},
		{"timeout", backend.TimeoutStatus(), suspended, backend.DurableDone, "timeout", "timeout"},
		{"completed naturally", backend.CompletedStatus(), natural, backend.DurableDone, "natural", "done"},
		{"completed and suspended", backend.CompletedStatus(), suspended, backend.DurableWaiting, "", "waiting"},
		{"completed by a stop", backend.CompletedStatus(), backend.TerminationReason{Kind: backend.Stopped, Detail: "max_rounds"}, backend.DurableDone, "stopped:max_rounds", "done"},
		{"completed with an error", backend.CompletedStatus(), failed, backend.DurableDone, "error", "done"},
		{"timeout wins over an error", backend.TimeoutStatus(), failed, backend.DurableDone, "timeout", "timeout"},
	}
}

func TestContractB_DurableRunStatus(t *testing.T) {
	t.Parallel()
	t.Run("durable_run_status", func(t *testing.T) {
		t.Parallel()
		for _, c := range statusCases() {
			require.Equal(t, c.durable, c.status.DurableRunStatus(c.termination), c.row)
		}
		require.Equal(t, []backend.DurableStatus{"created", "running", "waiting", "done"}, []backend.DurableStatus{
			backend.DurableCreated, backend.DurableRunning, backend.DurableWaiting, backend.DurableDone,
		})
	})
}

func TestContractB_DurableStatusReason(t *testing.T) {
	t.Parallel()
	t.Run("durable_status_reason", func(t *testing.T) {
		t.Parallel()
		for _, c := range statusCases() {
			require.Equal(t, c.reason, c.status.DurableStatusReason(c.termination), c.row)
		}
	})
}

func TestContractB_ResultStatusLabel(t *testing.T) {
	t.Parallel()
	t.Run("result_status_label", func(t *testing.T) {
		t.Parallel()
		for _, c := range statusCases() {
			require.Equal(t, c.label, c.status.ResultStatusLabel(c.termination), c.row)
		}
	})
}

func TestSurroundingTypes_TerminationReason(t *testing.T) {
	t.Parallel()
	for word, termination := range map[string]backend.TerminationReason{
		"natural":            {Kind: backend.NaturalEnd},
		"behavior_requested": {Kind: backend.BehaviorRequested},
		"stopped:timeout":    {Kind: backend.Stopped, Detail: "timeout"},
		"canceled":           {Kind: backend.TermCanceled},
		"blocked:policy":     {Kind: backend.Blocked, Detail: "policy"},
	} {
		status, got := termination.Durable()
		require.Equal(t, backend.DurableDone, status)
		require.Equal(t, word, got)
		require.Equal(t, termination, backend.TerminationFromDone(word))
	}
	status, word := backend.TerminationReason{Kind: backend.TermSuspended}.Durable()
	require.Equal(t, backend.DurableWaiting, status)
	require.Empty(t, word)
	status, word = backend.TerminationReason{Kind: backend.TermError, Detail: "boom"}.Durable()
	require.Equal(t, backend.DurableDone, status)
	require.Equal(t, "error", word)
	require.Equal(t, backend.TerminationReason{Kind: backend.TermError, Detail: "whatever"}, backend.TerminationFromDone("whatever"))
}
