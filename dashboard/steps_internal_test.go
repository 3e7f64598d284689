package dashboard

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

func TestAForkOfTheEndOfARunNeedsAMessage(t *testing.T) {
	t.Parallel()
	for node, end := range map[string]bool{"run_complete": true, "run_failed": true, "run_start": false, "model_response": false} {
		require.Equal(t, end, (&stepRow{Checkpoint: execution.Checkpoint{Node: node}}).AtEnd(), node)
	}
}
