package executor

import (
	"context"

	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// takeChildren turns the results of children that have come into receipts, and says which inbox entries that uses up. A
// receipt that was written before a crash stays as it is, and so does the usage that came with it.
func (m *machine) takeChildren(ctx context.Context, entries map[execution.CallID]entry) ([]execution.RequestID, error) {
	var consumed []execution.RequestID
	for i := range m.state.Batch.Calls {
		status := &m.state.Batch.Calls[i]
		if status.Status != CallDelegated {
			continue
		}
		request := execution.ChildRequest(status.CallID)
		ended, found, err := m.childResult(request)
		if err != nil {
			return consumed, err
		}
		if !found {
			continue
		}
		consumed = append(consumed, request)
		if _, done := m.received[status.CallID]; done {
			status.returned()
			continue
		}
		call := entries[status.CallID].intent.Call
		if err := m.receiveFrom(ctx, call, delegateResult(call, ended), ended.Usage.Delegated()); err != nil {
			return consumed, err
		}
	}
	if len(m.state.Batch.in(CallDelegated)) == 0 && m.state.Batch.Asked == nil {
		m.state.Status = StatusRunning
	}
	return consumed, nil
}

// childResult finds what a child has left in the inbox.
func (m *machine) childResult(request execution.RequestID) (journal.ChildResult, bool, error) {
	for _, entry := range m.inbox {
		if entry.RequestID != request {
			continue
		}
		result, err := journal.DecodeChildResult(entry.Payload)
		if err != nil {
			return result, false, unread("result of a child", entry.Payload, messageVersion, err)
		}
		return result, true, nil
	}
	return journal.ChildResult{}, false, nil
}

// delegateResult is the result of a call whose execution has ended.
func delegateResult(call execution.ToolCall, ended journal.ChildResult) execution.ToolResult {
	run := backend.RunResult{RunID: string(ended.ExecutionID)}
	switch {
	case ended.State == execution.Completed:
		run.Status = backend.CompletedStatus()
		if ended.Outcome != nil {
			run.Response = &ended.Outcome.Answer
		}
	case ended.State == execution.Canceled:
		run.Status = backend.CanceledStatus()
	case ended.Failure != nil && ended.Failure.Code == execution.CodeDeadlineExceeded:
		run.Status = backend.TimeoutStatus()
	case ended.Failure != nil:
		run.Status = backend.FailedStatus(ended.Failure.Code + ": " + ended.Failure.Message)
	default:
		run.Status = backend.FailedStatus("")
	}
	answer := backend.AnswerOfDelegate(call.CallID, run)
	if answer.IsError {
		return execution.ErrorResult(call, execution.ToolExecution, answer.Text)
	}
	return execution.TextResult(call, answer.Text)
}
