package link

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func TestWhyNamesTheTaskOfTheRemote(t *testing.T) {
	t.Parallel()
	row := journal.Execution{
		State: execution.Running, Active: true, Wait: &execution.Wait{Kind: execution.WaitRemote, UntilMs: 9000}, UpdatedAtMs: 8000,
	}
	f := facts{Inspection: journal.Inspection{Execution: row, NowMs: 8500}}
	why := f.explain()
	require.Equal(t, "A remote agent is working on it; no worker is needed meanwhile.", why.Detail)
	require.Equal(t, int64(8000), why.SinceAtMs)
	f.task, f.taskSinceMs = "t-7", 1000
	why = f.explain()
	require.Equal(t, execution.WaitsForRemote, why.WaitingFor)
	require.Equal(t, `A remote agent is working on it, as its task "t-7"; no worker is needed meanwhile.`, why.Detail)
	require.Equal(t, int64(1000), why.SinceAtMs, "the row changes with each look")
	require.Equal(t, &execution.WhyNext{AtMs: 9000, What: "the remote agent is asked how far it is"}, why.Next)
}
