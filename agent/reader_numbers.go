package agent

import (
	"math"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/execution"
)

// truth is true or false; false when key is not there.
func (o *object) truth(key string) bool {
	n := o.get(key)
	if n == nil {
		return false
	}
	if n.kind != boolNode {
		o.bad(key, "must be true or false, not %s", n.kind)
		return false
	}
	return n.truth
}

// fraction is a number from 0 to highest; nil when it is not there.
func (o *object) fraction(key string, highest float64) *float64 {
	n := o.get(key)
	if n == nil {
		return nil
	}
	if n.kind != numberNode {
		o.bad(key, "must be a number, not %s", n.kind)
		return nil
	}
	value, err := n.number.Float64()
	if err != nil || !(value >= 0 && value <= highest) {
		o.bad(key, "must be a number from 0 to %g", highest)
		return nil
	}
	return &value
}

// amount is a decimal amount of money in millionths, rounded up; 0 when it is not there.
func (o *object) amount(key string) int64 {
	n := o.get(key)
	if n == nil {
		return 0
	}
	if n.kind != numberNode {
		o.bad(key, "must be a number such as 2.5, not %s", n.kind)
		return 0
	}
	micros, err := execution.ParseMicros(n.number.String())
	if err != nil {
		o.bad(key, "must be a number such as 2.5 that is not negative, not %s", n.number)
	}
	return micros
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
