package linktest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/link"
)

func release(t *testing.T, l link.RuntimeLink, id execution.ID, changed bool, state execution.State) {
	t.Helper()
	steered, err := l.Release(bounded(t), id)
	require.NoError(t, err)
	require.Equal(t, changed, steered.Changed)
	require.Equal(t, state, steered.View.State)
}

func releaseRunning(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	hung := Claim(t, h.Store, id)
	release(t, h.Local(), id, true, execution.Running)
	unchanged(t, h, func() { release(t, h.Local(), id, false, execution.Running) })
	unchanged(t, h, func() {
		_, err := h.Store.Commit(bounded(t), journal.Commit{
			Hold: journal.Hold{Execution: id, Fence: hung.claim.Fence}, Step: hung.claim.Execution.Step,
			Then: journal.Then{Kind: journal.ThenContinue},
		})
		require.ErrorIs(t, err, journal.ErrFenced)
	})
	Claim(t, h.Store, id).Complete("done")
	events := Log(t, h.Store, id)
	warning, is := events[2].Payload.(*execution.Warning)
	require.True(t, is)
	require.Equal(t, execution.WarningReleased, warning.Code)
}

func releaseNothing(t *testing.T, h Harness) {
	suspended := submit(t, h.Local())
	pause(t, h.Local(), suspended, true, execution.Suspended)
	for state, id := range map[execution.State]execution.ID{
		execution.Queued: submit(t, h.Local()), execution.WaitingForInput: asked(t, h, Elicitation("question")),
		execution.Suspended: suspended,
	} {
		unchanged(t, h, func() { release(t, h.Local(), id, false, state) })
	}
	ended := submit(t, h.Local())
	Claim(t, h.Store, ended).Complete("done")
	unchanged(t, h, func() {
		_, err := h.Local().Release(bounded(t), ended)
		Refused(t, err, execution.ExecutionEnded, "id")
	})
}

func releaseRoles(t *testing.T, h Harness) {
	as := func(tenant, subject string, role execution.CallerRole) link.RuntimeLink {
		return h.As(execution.Authority{Caller: execution.CallerScope{Tenant: tenant, Subject: subject}, Role: role})
	}
	id := submit(t, as("default", "ann", execution.SubmitRole))
	Claim(t, h.Store, id)
	unchanged(t, h, func() {
		for _, l := range []link.RuntimeLink{
			as("default", "ann", execution.SubmitRole), as("default", "bob", execution.SubmitRole),
			as("default", "bob", execution.ReadRole),
		} {
			_, err := l.Release(bounded(t), id)
			require.ErrorIs(t, err, execution.ErrForbidden)
		}
		_, err := as("acme", "ann", execution.OperateRole).Release(bounded(t), id)
		require.ErrorIs(t, err, execution.ErrNotFound)
		_, err = h.Local().Release(bounded(t), execution.NewID(7))
		require.ErrorIs(t, err, execution.ErrNotFound)
	})
	release(t, as("default", "bob", execution.OperateRole), id, true, execution.Running)
}

// forceVerbs: nobody but the operator is there, and the holder answers nothing.
func forceVerbs(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	Claim(t, h.Store, id)
	steered, err := h.Local().Cancel(bounded(t), id)
	require.NoError(t, err)
	require.True(t, steered.View.CancelRequested, "a cancel waits for the holder")
	release(t, h.Local(), id, true, execution.Canceled)
	require.NoError(t, h.Local().Delete(bounded(t), id))
	_, err = h.Local().Execution(bounded(t), id)
	require.ErrorIs(t, err, execution.ErrNotFound)

	paused := submit(t, h.Local())
	Claim(t, h.Store, paused)
	require.True(t, pause(t, h.Local(), paused, true, execution.Running).PauseRequested)
	release(t, h.Local(), paused, true, execution.Suspended)
	resume(t, h.Local(), paused, true, execution.Running)
}
