//go:build faultpoint

package fault

import (
	"testing"
	"time"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

// Asynq holds a task for 30 s before it is given to others: a worker that has waited longer must not confuse the two.
func TestAWorkerThatWasIdleForLongEndsItsTasks(t *testing.T) {
	t.Parallel()
	stack := harness.New(t, harness.Config{Agents: talker})
	api := stack.API()
	stack.Reaper()
	stack.Worker()
	ready := time.Now()
	harness.Eventually(t, time.Minute, "the worker is idle for longer than a task's lease", func() bool {
		return time.Since(ready) > 32*time.Second
	})
	view := api.Submit("talker", "Hello?")
	api.AwaitState(view.ID, endTimeout, execution.Completed)
	harness.Eventually(t, endTimeout/3, "no task is left over", func() bool { return harness.Sum(stack.Standing()) == 0 })
}
