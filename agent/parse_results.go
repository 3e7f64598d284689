package agent

import (
	"math"
	"strconv"
	"strings"
)

// The bounds of results.limit. What the model gets of a larger result needs some room.
const (
	minResultLimit = 1 << 10
	maxResultLimit = 8 << 20
)

func parseResults(agent *object) Results {
	o := agent.child("results")
	if o == nil {
		return Results{}
	}
	results := Results{
		Over:  OverLimit(o.choice("over", string(OverRefuse), string(OverRefuse), string(OverTruncate), string(OverStore))),
		Limit: o.size("limit", DefaultResultLimit),
	}
	if results.Limit < minResultLimit || results.Limit > maxResultLimit {
		o.bad("limit", "must be from 1KiB to 8MiB")
	}
	o.refuseUnknown()
	return results
}

// size is a number of bytes such as 256KiB; fallback when it is not there.
func (o *object) size(key string, fallback int64) int64 {
	n := o.get(key)
	if n == nil {
		return fallback
	}
	text := n.text
	switch n.kind {
	case numberNode:
		text = n.number.String()
	case stringNode:
	default:
		o.bad(key, "must be a size such as 4096, 256KiB or 1MiB, not %s", n.kind)
		return fallback
	}
	unit := int64(1)
	for _, known := range []struct {
		suffix string
		bytes  int64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"B", 1}} {
		if before, ok := strings.CutSuffix(text, known.suffix); ok {
			text, unit = strings.TrimSpace(before), known.bytes
			break
		}
	}
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil || value < 0 || value > math.MaxInt64/unit {
		o.bad(key, "must be a size such as 4096, 256KiB or 1MiB")
		return fallback
	}
	return value * unit
}

// parseNoImages reads a model's images: false.
func parseNoImages(model *object) bool {
	return !model.truth("images") && model.has("images")
}

// leastThinking is the least that the API takes.
const leastThinking = 1024

// parseThinking reads how many tokens the model may think for. They are a part of those of the answer.
func parseThinking(model *object, maxOutputTokens int64) int64 {
	o := model.child("thinking")
	if o == nil {
		return 0
	}
	if !o.has("budgetTokens") {
		o.bad("budgetTokens", "is required")
	}
	budget := o.count("budgetTokens", leastThinking)
	switch {
	case budget < leastThinking:
		o.bad("budgetTokens", "must be at least %d", leastThinking)
	case maxOutputTokens > 0 && budget >= maxOutputTokens:
		o.bad("budgetTokens", "must be less than maxOutputTokens: thinking is a part of the answer")
	}
	o.refuseUnknown()
	return budget
}
