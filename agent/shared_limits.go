package agent

import "github.com/pawl-run/pawl/execution"

// SharedLimit is a limit that an execution shares with the agents that it calls: what they may use is a part of its own.
type SharedLimit struct {
	Name  string // as in execution.Limits
	Limit func(*execution.Limits) *int64
	Used  func(*execution.Usage) int64
}

// MaxToolCalls is the name of a shared limit of which each call of an agent uses one itself.
const MaxToolCalls = "maxToolCalls"

// SharedLimits lists them. Turns are each execution's own, and so is its deadline, which its parent's ends anyhow.
func SharedLimits() []SharedLimit {
	return []SharedLimit{
		{"maxModelRequests", func(l *execution.Limits) *int64 { return &l.MaxModelRequests }, func(u *execution.Usage) int64 { return u.Requests }},
		{MaxToolCalls, func(l *execution.Limits) *int64 { return &l.MaxToolCalls }, func(u *execution.Usage) int64 { return u.ToolCalls }},
		{"maxInputTokens", func(l *execution.Limits) *int64 { return &l.MaxInputTokens }, func(u *execution.Usage) int64 { return u.InputTokens }},
		{"maxOutputTokens", func(l *execution.Limits) *int64 { return &l.MaxOutputTokens }, func(u *execution.Usage) int64 { return u.OutputTokens }},
		{"maxTotalTokens", func(l *execution.Limits) *int64 { return &l.MaxTotalTokens }, func(u *execution.Usage) int64 { return u.TotalTokens }},
		{"maxCost", func(l *execution.Limits) *int64 { return &l.MaxCost }, func(u *execution.Usage) int64 { return u.CostMicros }},
	}
}
