package link

import (
	"fmt"

	"github.com/pawl-run/pawl/execution"
)

// remote: an agent that is elsewhere has the work.
func (f *facts) remote(why *execution.Why) {
	why.WaitingFor = execution.WaitsForRemote
	why.Detail = "A remote agent is working on it; no worker is needed meanwhile."
	if f.task != "" {
		why.Detail = fmt.Sprintf("A remote agent is working on it, as its task %q; no worker is needed meanwhile.", f.task)
	}
	if f.taskSinceMs > 0 { // the row changes with each look
		why.SinceAtMs = f.taskSinceMs
	}
}
