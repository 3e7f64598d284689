package linktest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/link"
)

// pause pauses and says what the answer must be.
func pause(t *testing.T, l link.RuntimeLink, id execution.ID, changed bool, state execution.State) execution.View {
	t.Helper()
	steered, err := l.Pause(bounded(t), id)
	require.NoError(t, err)
	require.Equal(t, changed, steered.Changed)
	require.Equal(t, state, steered.View.State)
	return steered.View
}

func resume(t *testing.T, l link.RuntimeLink, id execution.ID, changed bool, state execution.State) execution.View {
	t.Helper()
	steered, err := l.Resume(bounded(t), id, execution.ResumeRequest{Reason: "it was time"})
	require.NoError(t, err)
	require.Equal(t, changed, steered.Changed)
	require.Equal(t, state, steered.View.State)
	return steered.View
}

func pauseAtRest(t *testing.T, h Harness) {
	for state, id := range map[execution.State]execution.ID{
		execution.Queued: submit(t, h.Local()), execution.WaitingForInput: asked(t, h, Elicitation("question")),
	} {
		view := pause(t, h.Local(), id, true, execution.Suspended)
		require.Equal(t, &execution.Suspension{Reason: execution.ReasonPaused}, view.Suspension)
		unchanged(t, h, func() { pause(t, h.Local(), id, false, execution.Suspended) })
		require.Nil(t, resume(t, h.Local(), id, true, state).Suspension, "it is back where it was")
		unchanged(t, h, func() { resume(t, h.Local(), id, false, state) })
		events := Log(t, h.Store, id)
		require.Equal(t, execution.TypeExecutionSuspended, events[len(events)-2].Payload.EventType())
		require.Equal(t, execution.TypeExecutionResumed, events[len(events)-1].Payload.EventType())
	}
}

func pauseRunning(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	w := Claim(t, h.Store, id)
	require.True(t, pause(t, h.Local(), id, true, execution.Running).PauseRequested)
	unchanged(t, h, func() {
		require.True(t, pause(t, h.Local(), id, false, execution.Running).PauseRequested)
		resume(t, h.Local(), id, false, execution.Running) // it takes back no pause that is requested
	})
	w.Commit(journal.Then{Kind: journal.ThenContinue}, &execution.Warning{Code: "test", Message: "the node in flight"})
	view, err := h.Local().Execution(bounded(t), id)
	require.NoError(t, err)
	require.Equal(t, execution.Suspended, view.State)
	require.False(t, view.PauseRequested)
	resume(t, h.Local(), id, true, execution.Running)
	Claim(t, h.Store, id).Complete("done")
}

func pausedWaitsForResume(t *testing.T, h Harness) {
	id := asked(t, h, Elicitation("question"))
	pause(t, h.Local(), id, true, execution.Suspended)
	unchanged(t, h, func() {
		_, err := h.Local().SubmitInput(bounded(t), id, Answer("op-1", "question", "yes"))
		require.Contains(t, Refused(t, err, execution.Conflict, "id"), "resume it first")
	})
	resume(t, h.Local(), id, true, execution.WaitingForInput)
	_, err := h.Local().SubmitInput(bounded(t), id, Answer("op-1", "question", "yes"))
	require.NoError(t, err)
	Claim(t, h.Store, id).Complete("done")
}

func pauseRefusals(t *testing.T, h Harness) {
	completed, canceled, finalizing := submit(t, h.Local()), submit(t, h.Local()), submit(t, h.Local())
	Claim(t, h.Store, completed).Complete("done")
	_, err := h.Local().Cancel(bounded(t), canceled)
	require.NoError(t, err)
	Claim(t, h.Store, finalizing).Finalize()
	for id, code := range map[execution.ID]execution.ErrorCode{
		completed: execution.ExecutionEnded, canceled: execution.ExecutionEnded, finalizing: execution.Conflict,
	} {
		view, err := h.Local().Execution(bounded(t), id)
		require.NoError(t, err)
		unchanged(t, h, func() {
			_, err := h.Local().Pause(bounded(t), id)
			require.Contains(t, Refused(t, err, code, "id"), "the execution is "+string(view.State))
			_, err = h.Local().Resume(bounded(t), id, execution.ResumeRequest{})
			require.Contains(t, Refused(t, err, code, "id"), "the execution is "+string(view.State))
		})
	}
}

func resumeRefusals(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	pause(t, h.Local(), id, true, execution.Suspended)
	reason := strings.Repeat("r", execution.MaxReasonLength)
	unchanged(t, h, func() {
		_, err := h.Local().Resume(bounded(t), id, execution.ResumeRequest{Reason: reason + "r"})
		Refused(t, err, execution.InvalidRequest, "reason")
	})
	steered, err := h.Local().Resume(bounded(t), id, execution.ResumeRequest{Reason: reason})
	require.NoError(t, err)
	require.True(t, steered.Changed)
}
