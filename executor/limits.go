package executor

import (
	"fmt"
	"math"
	"strconv"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// The checks below name the limit that stands in the way, with its value; "" when none does. A zero limit is none.

func (m *machine) turnsUsedUp() string {
	return reached("maxTurns", int64(m.state.Turn), m.state.Limits.MaxTurns)
}

// noRoomForRequest is checked before a request is announced. One that is sure to pass a limit is not: tokens or money that
// are used up to the last one leave no room for any request.
func (m *machine) noRoomForRequest() string {
	usage, limits := m.state.Usage, m.state.Limits
	return first(
		reached("maxModelRequests", usage.Requests, limits.MaxModelRequests),
		reached("maxInputTokens", usage.InputTokens, limits.MaxInputTokens),
		reached("maxOutputTokens", usage.OutputTokens, limits.MaxOutputTokens),
		reached("maxTotalTokens", usage.TotalTokens, limits.MaxTotalTokens),
		reached(maxCost, usage.CostMicros, limits.MaxCost),
	)
}

// bounded reports whether limits bound what a request may cost.
func bounded(l execution.Limits) bool {
	return l.MaxInputTokens > 0 || l.MaxOutputTokens > 0 || l.MaxTotalTokens > 0 || l.MaxCost > 0
}

// reserve is checked right before a request is sent, for the most that it may cost, and tells the model how much it may
// answer. What it lets pass cannot pass a limit, if the provider keeps to the bound of the answer.
func (m *machine) reserve(asked *asking) (over string) {
	request, model := &asked.request, asked.model
	if over := m.noRoomForRequest(); over != "" {
		return over
	}
	usage, limits := m.state.Usage, m.state.Limits
	if !bounded(limits) {
		return ""
	}
	input := m.inputBound(request, nameOf(model))
	if limits.MaxInputTokens > 0 && addUp(usage.InputTokens, input) > limits.MaxInputTokens {
		return wouldPass("maxInputTokens", usage.InputTokens, input, limits.MaxInputTokens)
	}
	most := int64(math.MaxInt64)
	lower := func(name string, limit, left int64) {
		if left < most {
			most, m.boundBy = left, fmt.Sprintf("%s (%s)", name, figure(name, limit))
		}
	}
	if limits.MaxOutputTokens > 0 {
		lower("maxOutputTokens", limits.MaxOutputTokens, limits.MaxOutputTokens-usage.OutputTokens) // not 0, see above
	}
	if limits.MaxTotalTokens > 0 {
		if lower("maxTotalTokens", limits.MaxTotalTokens, limits.MaxTotalTokens-usage.TotalTokens-input); most < 1 {
			return wouldPass("maxTotalTokens", usage.TotalTokens, addUp(input, 1), limits.MaxTotalTokens)
		}
	}
	if limits.MaxCost > 0 {
		if model.Prices == nil { // refused where executions are submitted; a definition of long ago may come without
			return fmt.Sprintf("%s (%s): no price of the model is known", maxCost, figure(maxCost, limits.MaxCost))
		}
		if lower(maxCost, limits.MaxCost, model.Prices.Affordable(limits.MaxCost-usage.CostMicros, input)); most < 1 {
			worst := model.Prices.Cost(execution.Usage{InputTokens: input, OutputTokens: 1})
			return wouldPass(maxCost, usage.CostMicros, worst, limits.MaxCost)
		}
	}
	if most == math.MaxInt64 {
		return ""
	}
	asked.left = most
	if model.MaxOutputTokens == 0 { // providers refuse a bound above what the model can do, which nobody here knows
		most = min(most, agent.DefaultMaxOutputTokens)
	}
	request.MaxOutputTokens = most
	return ""
}

// cutBy names the limit that cut the answer off; "" when it is whole, or was cut by the model's own bound.
func (m *machine) cutBy(asked *asking, response *local.ModelResponse) string {
	sent, own := asked.request.MaxOutputTokens, asked.model.MaxOutputTokens
	if asked.left == 0 || sent < asked.left || own > 0 && own < sent || response.FinishReason != finishLength {
		return ""
	}
	const slack = 16 // a provider may have stopped for a bound of its own
	if u := response.Usage; u != nil && !u.Partial && u.OutputTokens+slack < asked.left {
		return ""
	}
	limits := m.state.Limits
	return first(
		reached("maxOutputTokens", m.state.Usage.OutputTokens, limits.MaxOutputTokens),
		reached("maxTotalTokens", m.state.Usage.TotalTokens, limits.MaxTotalTokens),
		reached(maxCost, m.state.Usage.CostMicros, limits.MaxCost),
		fmt.Sprintf("%s: the answer was cut off at %d tokens, which is what it left", m.boundBy, asked.left),
	)
}

// nameOf names a model among those of all agents.
func nameOf(model agent.Model) string {
	if model.Name == "" {
		return model.Provider
	}
	return model.Provider + " " + model.Name
}

// tokensOver is checked after a response.
func (m *machine) tokensOver() string {
	usage, limits := m.state.Usage, m.state.Limits
	return first(
		passed("maxInputTokens", usage.InputTokens, limits.MaxInputTokens),
		passed("maxOutputTokens", usage.OutputTokens, limits.MaxOutputTokens),
		passed("maxTotalTokens", usage.TotalTokens, limits.MaxTotalTokens),
		passed(maxCost, usage.CostMicros, limits.MaxCost),
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

const maxCost = "maxCost"

// figure writes a figure of a limit as agent files do: money in the currency of the prices, all else as a number.
func figure(name string, n int64) string {
	if name == maxCost {
		return fmt.Sprintf("%.6f", float64(n)/1e6)
	}
	return strconv.FormatInt(n, 10)
}

func reached(name string, used, limit int64) string {
	if limit > 0 && used >= limit {
		return fmt.Sprintf("%s (%s)", name, figure(name, limit))
	}
	return ""
}

func passed(name string, used, limit int64) string {
	if limit > 0 && used > limit {
		return fmt.Sprintf("%s (%s)", name, figure(name, limit))
	}
	return ""
}

func wouldPass(name string, used, next, limit int64) string {
	return fmt.Sprintf("%s (%s): %s are used, and the next request may need %s", name,
		figure(name, limit), figure(name, used), figure(name, next))
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
