package executor

import (
	"context"
	"slices"

	"github.com/pawl-run/pawl/execution"
)

// suspendedError is a hook's decision to suspend at a boundary that is persisted already.
type suspendedError struct{ reason string }

func (e *suspendedError) Error() string { return "suspended by policy: " + e.reason }

// consultOpening asks the hook about run_start, whose checkpoint is written where executions are reserved. A resume goes on
// behind the boundary if it was the hook that had suspended there.
func (h *holder) consultOpening(ctx context.Context, checkpoint Checkpoint) error {
	if _, asks := h.durable.cfg.Hook.(DirectExecutor); asks || checkpoint.Node != RunStart {
		return nil // the usual hook has nothing to say
	}
	decided, err := h.openingDecided(ctx)
	if err != nil || decided {
		return err
	}
	decision, err := consult(ctx, h.durable.cfg.Hook, h.named(checkpoint))
	if err != nil {
		return err
	}
	if reason, suspends := decision.Suspends(); suspends {
		return &suspendedError{reason: reason}
	}
	return nil
}

// maxOpeningEvents bounds how much of the log is read for a decision at run_start.
const maxOpeningEvents = 1000

// openingDecided reports whether the log says that the hook has suspended the execution before. The log is read only where
// it holds more than the start and what claims and failures leave.
func (h *holder) openingDecided(ctx context.Context) (decided bool, err error) {
	row := &h.claimed.Execution
	if int(row.LastSequence) <= 2+row.Reclaims+row.Attempts {
		return false, nil
	}
	var events []execution.Event
	err = repeat(ctx, h.trust.until(), func(ctx context.Context) (err error) {
		events, err = h.durable.cfg.Store.Events(ctx, row.ID, 0, maxOpeningEvents)
		return err
	})
	return slices.ContainsFunc(events, func(event execution.Event) bool {
		switch suspended := event.Payload.(type) {
		case execution.ExecutionSuspended:
			return suspended.Reason == execution.ReasonPolicy
		case *execution.ExecutionSuspended: // as it is stored
			return suspended.Reason == execution.ReasonPolicy
		default:
			return false
		}
	}), err
}
