package link

import (
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/execution"
)

// runnable: a task is standing, or should be.
func (f *facts) runnable(why *execution.Why) {
	why.WaitingFor = execution.WaitsForWorker
	if f.Task == nil { // somebody wrote the row between two looks of ours, or its entry is broken
		why.Detail = "Nothing holds it up, and no task stands for it: the reaper sees to it."
		why.Next = &execution.WhyNext{AtMs: f.LookAtMs, What: "the reaper looks at it"}
		return
	}
	why.SinceAtMs = f.RunnableAtMs
	why.Next = &execution.WhyNext{AtMs: f.LookAtMs, What: "the reaper looks whether its task still stands, and places it again if not"}
	queue := f.Task.Queue
	if f.place == nil {
		why.Detail = fmt.Sprintf("It waits for a worker that serves the queue %s.", queue)
		return
	}
	why.Queue = &execution.WhyQueue{
		Name: queue, Position: f.place.Position, Workers: f.place.Workers, Paused: f.place.Paused,
	}
	why.Detail = whereItStands(queue, f.place)
	if queue == execution.SuspectQueue {
		why.Detail = sentences(why.Detail, "Its step was reclaimed before: a worker runs one of such steps at a time")
	}
	switch {
	case f.place.Workers == 0 && !f.place.Paused:
		why.Detail = sentences(why.Detail, noWorker(queue))
	case f.place.Paused:
		why.Detail = sentences(why.Detail, "An operator has paused this queue; it goes on when the queue is resumed at /monitoring")
	}
}

func whereItStands(queue string, place *execution.Place) string {
	switch place.State {
	case execution.TaskPending:
		switch {
		case place.Position < 0:
			return fmt.Sprintf("Its task waits far behind in the queue %s.", queue)
		case place.Position == 0:
			return fmt.Sprintf("Its task is the next one in the queue %s.", queue)
		default:
			return fmt.Sprintf("Its task waits in the queue %s; %s before it.",
				queue, counted(place.Position, "other comes", "others come"))
		}
	case execution.TaskActive:
		return fmt.Sprintf("A worker has taken its task from the queue %s and is about to begin.", queue)
	case execution.TaskRetry, execution.TaskScheduled:
		return fmt.Sprintf("Its task was handed back to the queue %s for a moment.", queue)
	default:
		return fmt.Sprintf("Its task does not stand in the queue %s: the reaper places it again.", queue)
	}
}

// noWorker says what to do about a queue that nobody serves.
func noWorker(queue string) string {
	name := strings.TrimSuffix(queue, execution.NewSuffix)
	how := "start a worker without PAWL_WORKER_QUEUES, or with " + name + " in it"
	if !isOwnQueue(name) {
		how = "start a worker with " + name + " in PAWL_WORKER_QUEUES"
	}
	return "No live worker serves this queue: " + how
}

// isOwnQueue reports whether a worker serves the queue that was told nothing about queues.
func isOwnQueue(name string) bool {
	for _, priority := range []execution.Priority{execution.High, execution.Normal, execution.Low} {
		if name == priority.Queue() {
			return true
		}
	}
	return name == execution.SuspectQueue
}
