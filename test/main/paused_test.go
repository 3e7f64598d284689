package main_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

// Case I4: whether an execution is paused stands on its row and nowhere else. Reading the agents again, new programs and a
// restart of Redis leave it as it was; a resume alone takes it back.
func TestCaseI4_NeitherAReloadNorARestartUnpauses(t *testing.T) {
	t.Parallel()
	stack := shipped(t, asking("demo", "old"))
	api := stack.API()
	queued := api.Submit("demo", "go") // no worker is there yet
	paused, _ := api.Pause(queued.ID)
	worker, reaper := stack.Worker(), stack.Reaper()
	asked := api.AwaitState(api.Submit("demo", "go").ID, endTimeout, execution.WaitingForInput)
	waiting, _ := api.Pause(asked.ID)
	before := []execution.View{paused, waiting}
	for _, view := range before {
		require.Equal(t, execution.Suspended, view.State)
	}
	works := func(answer string) {
		view := api.Submit("demo", "go")
		api.Reply(api.AwaitState(view.ID, endTimeout, execution.WaitingForInput), "yes")
		require.Equal(t, answer, api.AwaitState(view.ID, endTimeout, execution.Completed).Outcome.Answer)
		for _, view := range before {
			require.Equal(t, view, api.Get(view.ID), "others went on, it did not")
		}
	}
	works("old")
	stack.WriteAgents(asking("demo", "new"))
	for _, program := range []*harness.Process{worker, reaper} {
		program.HangUp()
		program.WaitLog(endTimeout, "nothing to read again")
	}
	api.HangUp()
	api.WaitLog(endTimeout, "the agents were read again")
	works("new")
	api.StopCleanly()
	worker.StopCleanly()
	reaper.StopCleanly()
	stack.RestartRedis()
	api, worker, reaper = stack.API(), stack.Worker(), stack.Reaper()
	works("new")
	for _, view := range before {
		api.Resume(view.ID)
		open := api.AwaitState(view.ID, endTimeout, execution.WaitingForInput)
		api.Reply(open, "yes")
		require.Equal(t, "old", api.AwaitState(view.ID, endTimeout, execution.Completed).Outcome.Answer)
	}
	api.StopCleanly()
	worker.StopCleanly()
	reaper.StopCleanly()
}
