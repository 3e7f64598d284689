package executor

import (
	"context"
	"fmt"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// afterToolReturn takes the reply to an open question and the results of children, then runs what was approved, asks what is
// still open, waits for the children that are at work, or ends the batch.
func (m *machine) afterToolReturn(ctx context.Context) (advance, error) {
	if m.unread != nil {
		return advance{}, m.unread
	}
	if m.state.Batch == nil {
		return advance{}, fmt.Errorf("%w: %s without a batch", ErrCheckpoint, m.node)
	}
	entries, err := m.entries()
	if err != nil {
		return advance{}, err
	}
	var consumed []execution.RequestID
	if open := m.state.Batch.Asked; open != nil {
		answered, err := m.takeAnswers(ctx, entries)
		if err != nil {
			return advance{}, err
		}
		if answered { // else the boundary was left without waiting, by a policy: ask now
			consumed = append(consumed, open.RequestID)
		}
	}
	children, err := m.takeChildren(ctx, entries)
	if err != nil {
		return advance{}, err
	}
	consumed = append(consumed, children...)
	if a, refused := m.refused(); refused {
		a.consumed = consumed
		return a, nil
	}
	a, err := m.afterAnswers(entries)
	a.consumed = consumed
	return a, err
}

func (m *machine) afterAnswers(entries map[execution.CallID]entry) (advance, error) {
	if again := m.state.Batch.in(CallOutstanding); len(again) > 0 {
		a := m.next(ToolCall)
		for _, id := range again { // planned anew: an approved call is no longer one of unknown outcome
			a.plan = append(a.plan, journal.Plan{CallID: id, Intent: entries[id].Intent})
		}
		return a, nil
	}
	if approvals, others := m.state.Batch.asking(); approvals+others > 0 {
		return m.park()
	}
	if open := m.state.Batch.in(CallDelegated); len(open) > 0 {
		return m.parkForChildren(open), nil
	}
	return m.endBatch(entries), nil
}

// endBatch puts the results into the history and begins the next turn.
func (m *machine) endBatch(entries map[execution.CallID]entry) advance {
	results := m.results()
	if name := m.chargeToolRetries(); name != "" {
		return m.fail(execution.CodeToolRetryLimit, "the model could not correct its call of "+name)
	}
	if name := m.countRepeats(entries); name != "" {
		return m.fail(execution.CodeRepeatedCall, fmt.Sprintf(
			"the model called %s %d times with the same arguments and got the same error", name, maxRepeats))
	}
	m.state.Batch = nil
	return m.nextTurn(results...)
}

// chargeToolRetries counts the corrections that the batch's results ask for; it names a tool whose budget is used up.
func (m *machine) chargeToolRetries() string {
	over := ""
	for _, call := range m.state.Batch.Calls {
		kind := m.received[call.CallID].ErrorKind
		if kind != execution.ToolInvalidArguments && kind != execution.ToolModelRetry {
			continue
		}
		if m.state.ToolRetriesUsed == nil {
			m.state.ToolRetriesUsed = map[string]int{}
		}
		m.state.ToolRetriesUsed[call.Name]++
		if tool := m.kit.Tool(call.Name); tool != nil && m.state.ToolRetriesUsed[call.Name] > tool.Spec().MaxRetries {
			over = call.Name
		}
	}
	return over
}
