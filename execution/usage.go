package execution

import "math"

// Usage counts what an execution has spent. Additions saturate. ToolCalls counts successful calls only.
type Usage struct {
	Requests         int64 `json:"requests"`
	InputTokens      int64 `json:"inputTokens"`
	CacheReadTokens  int64 `json:"cacheReadTokens,omitempty"`
	CacheWriteTokens int64 `json:"cacheWriteTokens,omitempty"`
	OutputTokens     int64 `json:"outputTokens"`
	TotalTokens      int64 `json:"totalTokens"`
	ToolCalls        int64 `json:"toolCalls"`
	// CostMicros is the price in millionths of the currency of the agent's prices.
	CostMicros int64 `json:"costMicros,omitempty"`
	// Partial says that some of the counts are estimates: a request was cut off before its usage was reported.
	Partial bool `json:"partial,omitempty"`
	// LostRequests are those of Requests whose worker died before it said what became of them. Their tokens are estimates.
	LostRequests int64 `json:"lostRequests,omitempty"`
	// DelegatedRequests are those of Requests that were made by the agents which the execution called. What these have
	// spent besides is in the other counts.
	DelegatedRequests int64 `json:"delegatedRequests,omitempty"`
}

// Add returns the sum of both usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Requests:          addSaturating(u.Requests, v.Requests),
		InputTokens:       addSaturating(u.InputTokens, v.InputTokens),
		CacheReadTokens:   addSaturating(u.CacheReadTokens, v.CacheReadTokens),
		CacheWriteTokens:  addSaturating(u.CacheWriteTokens, v.CacheWriteTokens),
		OutputTokens:      addSaturating(u.OutputTokens, v.OutputTokens),
		TotalTokens:       addSaturating(u.TotalTokens, v.TotalTokens),
		ToolCalls:         addSaturating(u.ToolCalls, v.ToolCalls),
		CostMicros:        addSaturating(u.CostMicros, v.CostMicros),
		Partial:           u.Partial || v.Partial,
		LostRequests:      addSaturating(u.LostRequests, v.LostRequests),
		DelegatedRequests: addSaturating(u.DelegatedRequests, v.DelegatedRequests),
	}
}

// Delegated is the usage as it counts for the execution whose tool call ran the agent that has spent it.
func (u Usage) Delegated() Usage {
	u.DelegatedRequests, u.LostRequests = u.Requests, 0
	return u
}

// OwnRequests are the requests that the execution made itself and that were not lost.
func (u Usage) OwnRequests() int64 { return u.Requests - u.DelegatedRequests - u.LostRequests }

// addSaturating adds counts, which are never negative.
func addSaturating(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
