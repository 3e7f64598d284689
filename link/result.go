package link

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// takeResult takes the result of one call. The call says which interaction is meant, so a result is taken whatever request
// id the question about it has by now: the calls that a result leaves open are asked about again under another one. A
// result that comes while a worker is on its way to ask waits for the question, for at most EarlyResult.
func (s *Service) takeResult(
	ctx context.Context, row journal.Execution, input execution.SubmitInput, response string,
) (execution.View, error) {
	answer := journal.InteractionInput{OperationID: input.OperationID, Response: response}
	until := time.Now().Add(s.cfg.EarlyResult)
	for {
		receipt, repeated := row.InputReceipts[input.OperationID]
		answer.RequestID = receipt.RequestID
		if !repeated {
			if err := s.awaitCall(ctx, &row, input.Input, until); err != nil {
				return execution.View{}, err
			}
			answer.RequestID = row.PendingInteraction.RequestID
		}
		view, err := s.answer(ctx, row.ID, answer)
		switch {
		case err == nil:
			return view, nil
		case !errors.Is(err, journal.ErrInteractionClosed) || !time.Now().Before(until):
			return execution.View{}, s.inputProblem(ctx, row.ID, input, err)
		}
		if row, err = s.cfg.Journal.Get(ctx, row.ID); err != nil { // another answer came first
			return execution.View{}, s.problem(ctx, "input "+string(input.OperationID), err)
		}
	}
}

// awaitCall returns when the row's open interaction waits for the result of the call.
func (s *Service) awaitCall(
	ctx context.Context, row *journal.Execution, in execution.Input, until time.Time,
) error {
	settled := func() bool {
		return waitsFor(row, in.CallID) || answeredBy(row, in.CallID) != "" ||
			row.State != execution.Running && row.State != execution.Queued
	}
	if left := time.Until(until); !settled() && left > 0 {
		if _, err := s.await(ctx, row.ID, left, row, settled); err != nil {
			return err
		}
	}
	if waitsFor(row, in.CallID) {
		return nil
	}
	return notAwaited(row, in)
}

// waitsFor reports whether the row's open interaction takes the result of the call: one that the client carries out, one
// that was deferred, or one whose outcome is unknown.
func waitsFor(row *journal.Execution, call execution.CallID) bool {
	open := row.PendingInteraction
	if row.State != execution.WaitingForInput || open == nil {
		return false
	}
	if open.Kind != execution.ClientToolResult && open.Reason != execution.OutcomeUnknown {
		return false
	}
	return slices.ContainsFunc(open.Calls, func(c execution.InteractionCall) bool { return c.CallID == call })
}

// answeredBy names the operation that gave the result of the call; empty when none did.
func answeredBy(row *journal.Execution, call execution.CallID) execution.OperationID {
	for operation, receipt := range row.InputReceipts {
		var given execution.Input
		if json.Unmarshal([]byte(receipt.ResponseText), &given) == nil &&
			given.Type == execution.ToolResultInput && given.CallID == call {
			return operation
		}
	}
	return ""
}

// notAwaited says why the result of a call is not taken.
func notAwaited(row *journal.Execution, in execution.Input) error {
	open := row.PendingInteraction
	switch operation := answeredBy(row, in.CallID); {
	case operation != "":
		return execution.NewAPIError(execution.InteractionClosed,
			"the call was answered by operation %s", operation).In("input.callId")
	case row.State.Terminal():
		return execution.NewAPIError(execution.ExecutionEnded, "the execution is %s", row.State).In("id")
	case row.State == execution.Suspended:
		return execution.NewAPIError(execution.Conflict, "the execution is %s; resume it first", row.State).In("id")
	case open != nil && in.RequestID == open.RequestID && open.Kind == execution.ClientToolResult:
		return invalid("input.callId", "is not a call of the interaction")
	case open != nil && in.RequestID == open.RequestID:
		return invalid("input.type", "%q does not answer an interaction of kind %q", in.Type, open.Kind)
	default:
		return execution.NewAPIError(execution.Conflict,
			"no result of that call is waited for now; the execution is %s", row.State).In("input.callId")
	}
}
