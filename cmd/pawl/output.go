package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// say prints a line.
func say(out io.Writer, line string) error {
	if _, err := fmt.Fprintln(out, line); err != nil {
		return fail("%w", err)
	}
	return nil
}

// sayJSON prints a value as one line of JSON.
func sayJSON(out io.Writer, value any) error {
	line, err := json.Marshal(value)
	if err != nil {
		return fail("print JSON: %w", err)
	}
	return say(out, string(line))
}

// instant is a time of this machine's zone, to the second.
func instant(ms int64) string { return time.UnixMilli(ms).Format("2006-01-02 15:04:05") }

// written is when something was stored; empty when that cannot be read.
func written(ms int64) string {
	if ms == 0 {
		return ""
	}
	return instant(ms)
}

// away says how far an instant is from now, in people's units: "in 5s", "3m ago".
func away(now time.Time, ms int64) string {
	d := time.UnixMilli(ms).Sub(now)
	if d >= 0 {
		return "in " + rough(d)
	}
	return rough(-d) + " ago"
}

// rough is a duration in at most two units.
func rough(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm %ds", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%dh %dm", d/time.Hour, d%time.Hour/time.Minute)
	default:
		return fmt.Sprintf("%dd %dh", d/day, d%day/time.Hour)
	}
}
