package agent

import "github.com/pawl-run/pawl/execution"

func parseLimits(agent *object) execution.Limits {
	o := agent.child("limits")
	if o == nil {
		return execution.Limits{}
	}
	limits := execution.Limits{
		MaxTurns:         o.count("maxTurns", 0),
		MaxModelRequests: o.count("maxModelRequests", 0),
		MaxToolCalls:     o.count("maxToolCalls", 0),
		MaxInputTokens:   o.count("maxInputTokens", 0),
		MaxOutputTokens:  o.count("maxOutputTokens", 0),
		MaxTotalTokens:   o.count("maxTotalTokens", 0),
		Deadline:         o.millis("deadline"),
	}
	limits.SuspendOnExceeded = o.choice("onExceeded", "fail", "fail", "suspend") == "suspend"
	limits.MaxCost = o.amount("maxCost")
	o.refuseUnknown()
	return limits
}
