package executor

import (
	"time"

	"github.com/pawl-run/pawl/execution"
)

// Observer is told what a runner does. Its methods are called by many goroutines, in the path of every step: they return at
// once and never fail.
type Observer interface {
	// Claimed tells that a step was claimed; reclaimed, that an earlier claim of it had run out.
	Claimed(reclaimed bool)
	// Held tells how long a claim was held, from its grant to its end.
	Held(took time.Duration)
	// Ran tells how long a node has run, and whether it came to a boundary that is to be written.
	Ran(node Node, reached bool, took time.Duration)
	// Fenced tells that a claim was superseded: nothing of its node was written.
	Fenced()
	// Newer tells that a claim was given back, with nothing of the execution changed, because a record of it is of a later release.
	Newer()
	// Ended tells that an execution of the agent has ended.
	Ended(agent string, state execution.State)
}

// nobody observes nothing.
type nobody struct{}

func (nobody) Claimed(bool)                  {}
func (nobody) Ran(Node, bool, time.Duration) {}
func (nobody) Fenced()                       {}
func (nobody) Newer()                        {}
func (nobody) Ended(string, execution.State) {}
func (nobody) Held(time.Duration)            {}
