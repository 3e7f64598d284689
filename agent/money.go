package agent

import (
	"math"
	"math/big"

	"github.com/pawl-run/pawl/execution"
)

// Priced reports whether the price of the model and of every one that may be asked in its place is known.
func (m Model) Priced() bool {
	for _, other := range m.Fallback {
		if other.Prices == nil {
			return false
		}
	}
	return m.Prices != nil
}

const million = 1_000_000

// Cost is what a usage costs in millionths of the currency, rounded up. Without prices it costs nothing.
func (p *Prices) Cost(u execution.Usage) int64 {
	if p == nil {
		return 0
	}
	cached := min(u.CacheReadTokens, u.InputTokens)
	price := p.CachedInputPer1M
	if price == 0 {
		price = p.InputPer1M
	}
	var sum big.Int
	for _, part := range [][2]int64{{u.InputTokens - cached, p.InputPer1M}, {cached, price}, {u.OutputTokens, p.OutputPer1M}} {
		sum.Add(&sum, new(big.Int).Mul(big.NewInt(max(0, part[0])), big.NewInt(part[1])))
	}
	sum.Add(&sum, big.NewInt(million-1))
	sum.Div(&sum, big.NewInt(million))
	if !sum.IsInt64() {
		return math.MaxInt64
	}
	return sum.Int64()
}

// Affordable is how many output tokens so many millionths of the currency pay for beside so many input tokens, cached or
// not; negative when they do not pay for the input. Without a price of output it is the largest number.
func (p *Prices) Affordable(micros, inputTokens int64) int64 {
	dearest := Prices{InputPer1M: max(p.InputPer1M, p.CachedInputPer1M)}
	left := micros - dearest.Cost(execution.Usage{InputTokens: inputTokens})
	if left < 0 {
		return -1
	}
	if p.OutputPer1M == 0 {
		return math.MaxInt64
	}
	tokens := new(big.Int).Mul(big.NewInt(left), big.NewInt(million))
	tokens.Div(tokens, big.NewInt(p.OutputPer1M))
	if !tokens.IsInt64() {
		return math.MaxInt64
	}
	return tokens.Int64()
}
