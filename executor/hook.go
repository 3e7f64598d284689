package executor

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// hookTimeout bounds one answer of a hook: its claim is renewed meanwhile, and nobody else would look.
const hookTimeout = 30 * time.Second

// Executor is the hook at every boundary, in order: it inspects a checkpoint (or keeps it somewhere) and decides. It is
// called once per boundary and attempt, by many executions at the same time. A boundary whose call fails is not passed:
// the step is tried again later. So is one whose call panics, or minds its context and has not answered within 30 s.
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

// consult asks the hook and turns its failure into a *FailedError. A panic, and no answer within hookTimeout to a hook that
// minds its context, are failures.
func consult(ctx context.Context, hook Executor, checkpoint Checkpoint) (decision Decision, err error) {
	ctx, cancel := context.WithTimeout(ctx, hookTimeout)
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
		var failed *FailedError
		if err != nil && !errors.As(err, &failed) {
			err = &FailedError{Err: err}
		}
	}()
	return hook.Checkpoint(ctx, checkpoint)
}
