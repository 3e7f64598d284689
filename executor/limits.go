package executor

import (
	"fmt"

	"github.com/pawl-run/pawl/execution"
)

// The checks below name the limit that stands in the way, with its value; "" when none does. A zero limit is none.

func (m *machine) turnsUsedUp() string {
	return reached("maxTurns", int64(m.state.Turn), m.state.Limits.MaxTurns)
}

// noRoomForRequest is checked before a request is sent. A request that is sure to pass a limit is not sent: tokens that
// are used up to the last one leave no room for any request.
func (m *machine) noRoomForRequest() string {
	usage, limits := m.state.Usage, m.state.Limits
	return first(
		reached("maxModelRequests", usage.Requests, limits.MaxModelRequests),
		reached("maxInputTokens", usage.InputTokens, limits.MaxInputTokens),
		reached("maxOutputTokens", usage.OutputTokens, limits.MaxOutputTokens),
		reached("maxTotalTokens", usage.TotalTokens, limits.MaxTotalTokens),
	)
}

// tokensOver is checked after a response.
func (m *machine) tokensOver() string {
	usage, limits := m.state.Usage, m.state.Limits
	return first(
		passed("maxInputTokens", usage.InputTokens, limits.MaxInputTokens),
		passed("maxOutputTokens", usage.OutputTokens, limits.MaxOutputTokens),
		passed("maxTotalTokens", usage.TotalTokens, limits.MaxTotalTokens),
	)
}

// toolCallsOver is checked before any call of the batch runs; calls of unknown tools do not count.
func (m *machine) toolCallsOver(calls []execution.ToolCall) string {
	projected := m.state.Usage.ToolCalls
	for _, call := range calls {
		if m.kit.Tool(call.Name) != nil {
			projected++
		}
	}
	return passed("maxToolCalls", projected, m.state.Limits.MaxToolCalls)
}

func reached(name string, used, limit int64) string {
	if limit > 0 && used >= limit {
		return fmt.Sprintf("%s (%d)", name, limit)
	}
	return ""
}

func passed(name string, used, limit int64) string {
	if limit > 0 && used > limit {
		return fmt.Sprintf("%s (%d)", name, limit)
	}
	return ""
}

func first(names ...string) string {
	for _, name := range names {
		if name != "" {
			return name
		}
	}
	return ""
}

// limit ends the run because of a limit, or suspends it where it stands if the agent says so: the same work is tried again
// after a resume. Messages are those that the boundary not reached would have added.
func (m *machine) limit(name string, messages []execution.Message) advance {
	if m.state.Limits.SuspendOnExceeded {
		return advance{state: m.state, back: &handBack{suspension: &execution.Suspension{
			Reason: execution.ReasonLimit, Detail: name,
		}}}
	}
	if messages == nil {
		messages = m.danglingResults()
	}
	return m.failWith(execution.CodeUsageLimitExceeded, "limit reached: "+name, messages)
}
