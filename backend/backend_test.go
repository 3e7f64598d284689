package backend_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/execution"
)

func TestContractB_CancellationCapability(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		capability   backend.Cancellation
		token, abort bool
	}{
		{backend.CancelNone, false, false},
		{backend.CancelCooperative, true, false},
		{backend.CancelRemoteAbort, false, true},
		{backend.CancelCooperativeAndAbort, true, true},
		{"", false, false},
	} {
		require.Equal(t, c.token, c.capability.SupportsCooperativeToken(), c.capability)
		require.Equal(t, c.abort, c.capability.SupportsRemoteAbort(), c.capability)
	}
}

func TestContractB_CapabilitiesFull(t *testing.T) {
	t.Parallel()
	require.NoError(t, backend.Full().Validate())
	require.Equal(t, execution.Capabilities{
		Cancellation: "cooperative_token", Decisions: true, Overrides: true, FrontendTools: true,
		Continuation: "in_process_state", Waits: "input_and_auth", Transcript: "full_transcript", Output: "text_and_artifacts",
	}, backend.Full().View())
}

func TestContractB_CapabilitiesRemoteStatelessText(t *testing.T) {
	t.Parallel()
	require.NoError(t, backend.RemoteStatelessText().Validate())
	require.Equal(t, execution.Capabilities{
		Cancellation: "none", Continuation: "none", Waits: "none", Transcript: "single_prompt", Output: "text",
	}, backend.RemoteStatelessText().View())
}

func TestContractB_ZeroValueIsNeitherDefault(t *testing.T) {
	t.Parallel()
	var zero backend.Capabilities
	require.NotEqual(t, backend.Full(), zero)
	require.NotEqual(t, backend.RemoteStatelessText(), zero)
	require.ErrorContains(t, zero.Validate(), "cancellation")
	for field, spoil := range map[string]func(*backend.Capabilities){
		"cancellation": func(c *backend.Capabilities) { c.Cancellation = "x" },
		"continuation": func(c *backend.Capabilities) { c.Continuation = "x" },
		"waits":        func(c *backend.Capabilities) { c.Waits = "x" },
		"transcript":   func(c *backend.Capabilities) { c.Transcript = "x" },
		"output":       func(c *backend.Capabilities) { c.Output = "" },
	} {
		c := backend.Full()
		spoil(&c)
		require.ErrorContains(t, c.Validate(), field)
	}
}

func ptr(s string) *string { return &s }

func TestContractB_RunStatusDisplay(t *testing.T) {
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
}

func TestContractB_DurableStatusReasonAndLabel(t *testing.T) {
	t.Parallel()
	natural := backend.TerminationReason{Kind: backend.NaturalEnd}
	failed := backend.TerminationReason{Kind: backend.TermError, Detail: "boom"}
	suspended := backend.TerminationReason{Kind: backend.TermSuspended}
	for _, c := range []struct {
		row           string
		status        backend.RunStatus
		termination   backend.TerminationReason
		durable       backend.DurableStatus
		reason, label string
	}{
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
	} {
		require.Equal(t, c.durable, c.status.DurableRunStatus(c.termination), c.row)
		require.Equal(t, c.reason, c.status.DurableStatusReason(c.termination), c.row)
		require.Equal(t, c.label, c.status.ResultStatusLabel(c.termination), c.row)
	}
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
