package executor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/execution"
)

// forgetful is a peer that recognizes nothing: each message begins a task, unless it goes to one that asks. A task works for
// some looks, asks some questions one after the other, and completes.
type forgetful struct {
	backend.Base
	looks, questions int

	mu    sync.Mutex
	tasks map[string]*forgetfulTask // guarded by mu
	told  map[string]int            // guarded by mu: messages by their operation
}

type forgetfulTask struct{ looked, asked int }

func (f *forgetful) Capabilities() backend.Capabilities { return (&peer{}).Capabilities() }

func (f *forgetful) ExecuteRoot(_ context.Context, request backend.RootRunRequest) (backend.RunResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := ""
	if request.IsContinuation {
		id = taskIn(request.State)
	}
	if len(request.NewMessages) > 0 {
		f.told[request.OperationID]++
	}
	if id == "" {
		id = fmt.Sprintf("t%d", len(f.tasks)+1)
		f.tasks[id] = &forgetfulTask{}
		return working(id), nil
	}
	task := f.tasks[id]
	if len(request.NewMessages) > 0 { // the answer to its question
		task.looked = 0
		return working(id), nil
	}
	task.looked++
	switch {
	case task.looked <= f.looks:
		return working(id), nil
	case task.asked < f.questions:
		task.asked++
		question := fmt.Sprintf("question %d?", task.asked)
		return waiting(backend.WaitingInputStatus(&question), id), nil
	default:
		return done("Booked by "+id, id), nil
	}
}

func taskIn(state *backend.PersistedState) string {
	data, err := encodeCleanup("far", 1, state)
	if err != nil {
		return ""
	}
	task, _ := RemoteTask(data)
	return task
}

// Case K5: whichever writes are lost, the remote is told each thing once, and once more for each worker that died in between.
func TestCaseK5_RandomRemoteRunsAreToldWhatTheySay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		f := &forgetful{
			looks: rapid.IntRange(0, 3).Draw(rt, "looks"), questions: rapid.IntRange(0, 2).Draw(rt, "questions"),
			tasks: map[string]*forgetfulTask{}, told: map[string]int{},
		}
		lost := rapid.SliceOfNDistinct(rapid.IntRange(1, 20), 0, 3, rapid.ID[int]).Draw(rt, "lost commits")
		nodes := rapid.SampledFrom([]int{1, 8}).Draw(rt, "nodes per task")
		synctest.Test(t, func(t *testing.T) { remoteRun(t, f, lost, nodes) })
	})
}

func remoteRun(t *testing.T, f *forgetful, lost []int, nodes int) {
	t.Helper()
	var store *flaky
	w := newWorld(t, farAway(), noKit(), func(cfg *Config) {
		withRemotes(f)(cfg)
		store = &flaky{Store: cfg.Store}
		cfg.Store, cfg.NodesPerTask, cfg.MaxReclaims = store, nodes, -1
	})
	commits := 0
	store.refuse(func(method string) error {
		if method != "commit" {
			return nil
		}
		commits++
		for _, n := range lost {
			if n == commits {
				return errors.New("the worker died")
			}
		}
		return nil
	})
	row := w.drive()
	answers := 0
	for ; row.State == execution.WaitingForInput; row = w.drive() {
		answers++
		w.answer(execution.Input{Type: execution.ElicitationResponse, Text: fmt.Sprintf("answer %d", answers)})
	}
	require.Equal(t, execution.Completed, row.State)
	require.Empty(t, row.Cleanup, "nothing is left to be undone")
	require.Len(t, f.told, 1+answers, "one name for each thing that the remote is told")
	again := 0
	for _, times := range f.told {
		again += times - 1
	}
	require.LessOrEqual(t, again, len(lost), "told again only by who comes after a worker that died")
	require.LessOrEqual(t, len(f.tasks), 1+len(lost))
	require.GreaterOrEqual(t, row.Usage.Requests, int64(1+answers))
	require.LessOrEqual(t, row.Usage.Requests, int64(1+answers+len(lost)))
}
