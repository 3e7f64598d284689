package executor

import (
	"fmt"
	"time"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
)

// share is what a run of the agent may use: at most what its definition and the tool say, and its part of what the execution
// has left. That is divided evenly among the batch's agents that are not started yet, the first ones getting the rest. A
// call for which nothing is left gets its result.
func (m *machine) share(p *pending, definition *agent.Definition) execution.Limits {
	limits := m.agentLimits(p, definition)
	parts := m.toStart()
	for _, s := range agent.SharedLimits() {
		total := *s.Limit(&m.state.Limits)
		if total == 0 || definition.Remote() && s.Name != "maxModelRequests" { // what is done elsewhere is not seen here
			continue
		}
		left := total - s.Used(&m.state.Usage) - m.spokenFor(s)
		if s.Name == agent.MaxToolCalls {
			left -= m.withoutReceipt()
		}
		part := (left + parts - 1) / parts
		if left <= 0 {
			part = 0
		}
		if part == 0 && s.Name == agent.MaxToolCalls && len(definition.Tools) == 0 {
			continue
		}
		if part == 0 {
			m.refuseDelegate(p, execution.ToolExecution, fmt.Sprintf(
				"the agent %s was not started: nothing is left of the limit %s (%d)", definition.Name, s.Name, total))
			return limits
		}
		lower(s.Limit(&limits), part)
	}
	if limits.MaxCost > 0 && !definition.Remote() && !definition.Model.Priced() {
		m.refuseDelegate(p, execution.ToolExecution, fmt.Sprintf(
			"the agent %s was not started: the execution has a limit of its cost, and no price is known of the agent's model", definition.Name))
	}
	return limits
}

// agentLimits are those of the definition and of the tool, and what is left of the time.
func (m *machine) agentLimits(p *pending, definition *agent.Definition) execution.Limits {
	limits, tool := definition.Limits, p.spec.Delegate.Limits
	for _, s := range agent.SharedLimits() {
		if own := *s.Limit(&tool); own > 0 {
			lower(s.Limit(&limits), own)
		}
	}
	if tool.MaxTurns > 0 {
		lower(&limits.MaxTurns, tool.MaxTurns)
	}
	if tool.Deadline > 0 {
		lower(&limits.Deadline, tool.Deadline)
	}
	if m.deadlineAtMs > 0 {
		lower(&limits.Deadline, max(time.Millisecond, time.Duration(m.deadlineAtMs-m.env.NowMs())*time.Millisecond))
	}
	limits.SuspendOnExceeded = limits.SuspendOnExceeded || tool.SuspendOnExceeded
	return limits
}

// lower sets a limit that is none or higher.
func lower[T int64 | time.Duration](limit *T, to T) {
	if *limit == 0 || to < *limit {
		*limit = to
	}
}

// toStart counts the calls of agents in the batch that have neither been started nor answered. At least the one at hand is
// among them.
func (m *machine) toStart() int64 {
	var n int64
	for i := range m.state.Batch.Calls {
		call := &m.state.Batch.Calls[i]
		if call.Status != CallOutstanding && call.Status != CallAsking {
			continue
		}
		if _, given := m.grants[call.CallID]; given {
			continue
		}
		if _, done := m.received[call.CallID]; done {
			continue
		}
		if tool := m.kit.Tool(call.Name); tool != nil && tool.Spec().Delegate != nil {
			n++
		}
	}
	return max(1, n)
}

// spokenFor is how much of a limit the agents have that are at work.
func (m *machine) spokenFor(s agent.SharedLimit) int64 {
	var sum int64
	for _, limits := range m.grants {
		sum += *s.Limit(&limits)
	}
	for i := range m.state.Batch.Calls {
		if call := &m.state.Batch.Calls[i]; call.Status == CallDelegated && call.Child != nil {
			sum += *s.Limit(&call.Child.Limits)
		}
	}
	return sum
}

// withoutReceipt counts the batch's calls that may yet count as successful.
func (m *machine) withoutReceipt() int64 {
	var n int64
	for i := range m.state.Batch.Calls {
		if _, done := m.received[m.state.Batch.Calls[i].CallID]; !done {
			n++
		}
	}
	return n
}
