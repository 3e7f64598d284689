package app

import (
	"time"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/executor"
	"github.com/pawl-run/pawl/queue"
)

// tallying tells the worker's tally what its metrics are told.
type tallying struct {
	executor.Observer
	tally *queue.Tally
}

// Claimed implements executor.Observer.
func (t tallying) Claimed(reclaimed bool) {
	t.Observer.Claimed(reclaimed)
	if reclaimed {
		t.tally.Reclaimed()
	}
}

// Ran implements executor.Observer.
func (t tallying) Ran(node executor.Node, reached bool, took time.Duration) {
	t.Observer.Ran(node, reached, took)
	if reached {
		t.tally.Step(node == executor.RunStart)
	}
}

// Fenced implements executor.Observer.
func (t tallying) Fenced() {
	t.Observer.Fenced()
	t.tally.Fenced()
}

// Ended implements executor.Observer.
func (t tallying) Ended(agent string, state execution.State) {
	t.Observer.Ended(agent, state)
	t.tally.Ended()
}

func tallyWaits(measure func(string, time.Duration), tally *queue.Tally) func(string, time.Duration) {
	return func(queue string, took time.Duration) {
		measure(queue, took)
		tally.Waited(took)
	}
}
