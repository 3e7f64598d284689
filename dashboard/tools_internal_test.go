package dashboard

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

func TestHowFarAnOpenCallMayHaveComeIsSaid(t *testing.T) {
	t.Parallel()
	running, ended := &execution.View{State: execution.Running}, &execution.View{State: execution.Canceled}
	for _, c := range []struct {
		call     execution.LedgerEntry
		standing string // while the execution is open
		note     string // when it has ended
	}{
		{execution.LedgerEntry{State: execution.CallPlanned, Recovery: execution.RecoveryReadOnly}, "may have been sent", "before the call was done"},
		{execution.LedgerEntry{State: execution.CallPlanned, Recovery: execution.RecoveryIdempotent}, "may have been sent", "before the call was done"},
		{execution.LedgerEntry{State: execution.CallPlanned, Recovery: execution.RecoveryReconcile}, "not sent yet", "before the call was sent"},
		{execution.LedgerEntry{State: execution.CallPlanned, Recovery: execution.RecoveryUnsafe}, "not sent yet", "before the call was sent"},
		{execution.LedgerEntry{State: execution.CallStarted, Recovery: execution.RecoveryUnsafe}, "sent, or about to be", "Whether it had an effect is not known"},
		{execution.LedgerEntry{State: execution.CallPlanned}, "", "before the call was done"},
		{execution.LedgerEntry{State: execution.CallPlanned, Recovery: execution.RecoveryIdempotent, ChildID: "exec_1"}, "done when its child has ended", "before the call was done"},
		{execution.LedgerEntry{State: execution.CallDone, Recovery: execution.RecoveryUnsafe, Result: new(execution.ToolResult)}, "", ""},
	} {
		require.Equal(t, c.standing, standing(running, &c.call), "%+v", c.call)
		require.Empty(t, standing(ended, &c.call), "%+v", c.call)
		require.Contains(t, callNote(ended, &c.call), c.note, "%+v", c.call)
	}
}
