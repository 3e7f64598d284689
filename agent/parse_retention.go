package agent

import (
	"time"

	"github.com/pawl-run/pawl/execution"
)

// parseRetention reads how long the agent's executions are kept after their end; 0: as long as the installation says.
func parseRetention(o *object) time.Duration {
	retention := o.duration("retention", 0)
	if retention != 0 && (retention < execution.MinRetention || retention > execution.MaxRetention) {
		o.bad("retention", "must be from %v to %v, which is ten years", execution.MinRetention, execution.MaxRetention)
		return 0
	}
	return retention
}
