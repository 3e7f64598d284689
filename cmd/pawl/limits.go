package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/execution"
)

// limitFlags are the flags that set limits in place of those there are: each by itself, or several at once.
type limitFlags struct {
	pairs  []string
	single map[string]*string // by the name of agent files
}

func (l *limitFlags) declare(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&l.pairs, "limits", nil,
		"`NAME=VALUE,…` in place of the limits it has, such as maxModelRequests=5,deadline=10m,maxCost=0.50; names as in agent files")
	l.single = make(map[string]*string)
	for _, limit := range []struct{ name, flag, about string }{
		{"maxTurns", "max-turns", "at most `N` turns"},
		{"maxModelRequests", "max-model-requests", "at most `N` requests to models"},
		{"maxToolCalls", "max-tool-calls", "at most `N` tool calls"},
		{"maxInputTokens", "max-input-tokens", "at most `N` input tokens"},
		{"maxOutputTokens", "max-output-tokens", "at most `N` output tokens"},
		{"maxTotalTokens", "max-total-tokens", "at most `N` tokens"},
		{"maxCost", "max-cost", "at most `AMOUNT`, such as 0.50, in the currency of the agent's prices"},
		{"deadline", "deadline", "end `DURATION` after its start, waits included"},
	} {
		l.single[limit.name] = flags.String(limit.flag, "", limit.about)
	}
}

// read gives the limits that were set; nil when none was.
func (l *limitFlags) read() (*execution.Limits, error) {
	pairs := l.pairs
	for _, name := range sorted(keys(l.single)) {
		if value := *l.single[name]; value != "" {
			pairs = append(pairs, name+"="+value)
		}
	}
	if len(pairs) == 0 {
		return nil, nil //nolint:nilnil // no limits are no error
	}
	limits := new(execution.Limits)
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, wrongUsage("--limits: want NAME=VALUE, have %q", pair)
		}
		if err := setLimit(limits, name, value); err != nil {
			return nil, wrongUsage("--limits: %w", err)
		}
	}
	return limits, nil
}

// setLimit reads one limit as agent files write it.
func setLimit(l *execution.Limits, name, value string) error {
	counts := map[string]*int64{
		"maxTurns": &l.MaxTurns, "maxModelRequests": &l.MaxModelRequests, "maxToolCalls": &l.MaxToolCalls,
		"maxInputTokens": &l.MaxInputTokens, "maxOutputTokens": &l.MaxOutputTokens, "maxTotalTokens": &l.MaxTotalTokens,
	}
	switch count := counts[name]; {
	case count != nil:
		if n, err := fmt.Sscan(value, count); n != 1 || err != nil || *count < 1 || fmt.Sprint(*count) != value {
			return fmt.Errorf("%s: want a number above 0, have %q", name, value)
		}
	case name == "maxCost":
		micros, err := execution.ParseMicros(value)
		if err != nil || micros == 0 {
			return fmt.Errorf("maxCost: want an amount above 0 such as 0.50, have %q", value)
		}
		l.MaxCost = micros
	case name == "deadline":
		deadline, err := time.ParseDuration(value)
		if err != nil || deadline <= 0 {
			return fmt.Errorf("deadline: want a duration such as 10m, have %q", value)
		}
		l.Deadline = deadline
	case name == "onExceeded" && value == "suspend":
		l.SuspendOnExceeded = true
	default:
		return fmt.Errorf("%q is no limit of an agent file with that value", name+"="+value)
	}
	return nil
}
