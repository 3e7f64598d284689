package executor

import (
	"context"
	"errors"
)

// Executor is the hook at every boundary, in order: it inspects a checkpoint (or keeps it somewhere) and decides. It is
// called once per boundary and attempt, by many executions at the same time. A boundary whose call fails is not passed:
// the step is tried again later.
//
// Under Durable a checkpoint is persisted in the same write that carries the decision out.
type Executor interface {
	Checkpoint(ctx context.Context, checkpoint Checkpoint) (Decision, error)
}

// FailedError is the failure of a hook.
type FailedError struct{ Err error }

// Error begins with "executor failed".
func (e *FailedError) Error() string { return "executor failed: " + e.Err.Error() }

// Unwrap is the cause.
func (e *FailedError) Unwrap() error { return e.Err }

// DirectExecutor always continues and keeps nothing.
type DirectExecutor struct{}

// Checkpoint continues.
func (DirectExecutor) Checkpoint(context.Context, Checkpoint) (Decision, error) {
	return Continue(), nil
}

// consult asks the hook and turns its failure into a *FailedError.
func consult(ctx context.Context, hook Executor, checkpoint Checkpoint) (Decision, error) {
	decision, err := hook.Checkpoint(ctx, checkpoint)
	var failed *FailedError
	if err != nil && !errors.As(err, &failed) {
		err = &FailedError{Err: err}
	}
	return decision, err
}
