package queue

import (
	"context"

	"github.com/pawl-run/pawl/execution"
)

// Runner runs the next node of a task's execution. executor.Durable satisfies it.
//
// A nil error means that the task is done, whatever became of the node: the journal knows. An
// *execution.PutBack hands the task back with its delay; any other error is an infrastructure fault, and the task is
// tried again with Asynq's own back-off.
type Runner interface {
	Run(ctx context.Context, task execution.Task) error
}
