package execution

import "fmt"

// SuspectQueue holds the tasks of steps that were reclaimed before; a worker runs one of them at a time, so that a step
// that kills its worker takes no neighbours with it.
const SuspectQueue = "suspect"

// Task says "execution E stands at step N; run the next node". It is a wake-up and never truth: a lost, late, repeated
// or reordered task is harmless.
type Task struct {
	Execution ID
	Step      Step
	Wake      Wake
	Queue     string // the Asynq queue, from the row
}

// ID is the task id, <execution>.<step>.<wake>.
func (t Task) ID() string { return fmt.Sprintf("%s.%d.%d", t.Execution, t.Step, t.Wake) }
