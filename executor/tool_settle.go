package executor

import (
	"context"
	"fmt"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
)

// settle makes one move of what became of the calls: fail, try the rest again, ask, or go on.
func (m *machine) settle(ctx context.Context, calls []*pending) (advance, error) {
	if a, refused := m.refused(); refused {
		return a, nil
	}
	var transient error
	for _, p := range calls {
		switch {
		case p.unknown && p.spec.OnUnknown == agent.UnknownFail:
			return m.fail(execution.CodeOutcomeUnknown, "the outcome of a call of "+p.entry.intent.Call.Name+" is unknown"), nil
		case p.transient != nil && (transient == nil || wish(p.transient) > wish(transient)):
			transient = p.transient // the longest wish holds for all
		}
	}
	for _, p := range calls {
		if err := m.keep(ctx, p); err != nil {
			return advance{}, err
		}
	}
	if transient != nil {
		return m.retry(transient, unsent(calls)...), nil
	}
	return m.returnBatch()
}

// keep writes down what is decided about a call without a result.
func (m *machine) keep(ctx context.Context, p *pending) error {
	call := p.entry.intent.Call
	status := m.state.Batch.call(call.CallID)
	switch {
	case p.question != nil:
		status.ask(p.question)
	case p.child != nil:
		status.delegated(p.child)
	case p.unknown && p.spec.OnUnknown == agent.UnknownTellModel:
		return m.receive(ctx, call, execution.ErrorResult(call, execution.ToolOutcomeUnknown,
			"The outcome of this call is unknown: it may or may not have happened. It was not repeated."))
	case p.unknown:
		reply := status.Reply // the tool may still want it
		status.ask(&Question{
			Kind: execution.Approval, Reason: execution.OutcomeUnknown,
			Prompt: fmt.Sprintf("The outcome of a call of %s is unknown: it may have happened. Approve to run it again, "+
				"answer to give its result, or reject to tell the model that it failed.", call.Name),
		})
		status.Reply = reply
	}
	return nil
}

// returnBatch commits tool_return: parked on the first open question, or on the children, or going on.
func (m *machine) returnBatch() (advance, error) {
	if approvals, others := m.state.Batch.asking(); approvals+others > 0 {
		return m.park()
	}
	if open := m.state.Batch.in(CallDelegated); len(open) > 0 {
		return m.parkForChildren(open), nil
	}
	return m.next(ToolReturn), nil
}
