package execution

import (
	"fmt"
	"strconv"
	"time"
)

// SuspectQueue holds the tasks of steps that were reclaimed before; a worker runs one of them at a time, so that a step
// that kills its worker takes no neighbors with it.
const SuspectQueue = "suspect"

// NewSuffix follows the base name of a queue that holds the tasks of executions which have not started. Steps of started
// executions go before new ones.
const NewSuffix = "-new"

// Task says "execution E stands at step N; run the next node". It is a wake-up and never truth: a lost, late, repeated
// or reordered task is harmless.
type Task struct {
	Execution ID
	Step      Step
	Wake      Wake
	Queue     string // the Asynq queue, from the row
}

// ID is the task id, <execution>.<step>.<wake>.
func (t Task) ID() string {
	id := make([]byte, 0, len(t.Execution)+24)
	id = append(id, t.Execution...)
	id = strconv.AppendUint(append(id, '.'), uint64(t.Step), 10)
	return string(strconv.AppendUint(append(id, '.'), uint64(t.Wake), 10))
}

// PutBack is the error of a runner that wants a task again after a while: the store is short of memory or out of reach,
// or the task came ahead of its row.
type PutBack struct {
	After time.Duration
	Err   error
}

// Error says how long.
func (p *PutBack) Error() string { return fmt.Sprintf("put back for %v: %v", p.After, p.Err) }

// Unwrap is the cause.
func (p *PutBack) Unwrap() error { return p.Err }
