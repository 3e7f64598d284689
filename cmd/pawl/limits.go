package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/execution"
)

// limitFlags are the flags that set limits in place of those there are: each by itself, or several at once.
type limitFlags struct {
	pairs  []string
	single []*limitFlag
}

// limitFlag is the flag of one limit.
type limitFlag struct{ name, flag, value string } // name is that of agent files

// onExceeded is the name of the limit that has no flag of its own.
const onExceeded = "onExceeded"

func (l *limitFlags) declare(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&l.pairs, "limits", nil,
		"`NAME=VALUE,…` in place of the limits it has, such as maxModelRequests=5,deadline=10m,maxCost=0.50; names as in agent files")
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
		one := &limitFlag{name: limit.name, flag: limit.flag}
		flags.StringVar(&one.value, limit.flag, "", limit.about)
		l.single = append(l.single, one)
	}
}

// read gives the limits that were set; nil when none was.
func (l *limitFlags) read() (*execution.Limits, error) {
	limits := new(execution.Limits)
	for _, pair := range l.pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, wrongUsage("--limits: want NAME=VALUE, have %q", pair)
		}
		if !slices.Contains(l.names(), name) {
			return nil, wrongUsage("--limits: there is no limit %q; there are %s", name, strings.Join(l.names(), ", "))
		}
		if err := setLimit(limits, name, value); err != nil {
			return nil, wrongUsage("--limits: %s: %w", name, err)
		}
	}
	for _, one := range l.single {
		if one.value == "" {
			continue
		}
		if err := setLimit(limits, one.name, one.value); err != nil {
			return nil, wrongUsage("--%s: %w", one.flag, err)
		}
	}
	if *limits == (execution.Limits{}) {
		return nil, nil //nolint:nilnil // no limits are no error
	}
	return limits, nil
}

// names are those of agent files.
func (l *limitFlags) names() []string {
	var names []string
	for _, one := range l.single {
		names = append(names, one.name)
	}
	return append(names, onExceeded)
}

// setLimit reads the value of one limit as agent files write it.
func setLimit(l *execution.Limits, name, value string) error {
	counts := map[string]*int64{
		"maxTurns": &l.MaxTurns, "maxModelRequests": &l.MaxModelRequests, "maxToolCalls": &l.MaxToolCalls,
		"maxInputTokens": &l.MaxInputTokens, "maxOutputTokens": &l.MaxOutputTokens, "maxTotalTokens": &l.MaxTotalTokens,
	}
	switch count := counts[name]; {
	case count != nil:
		if n, err := fmt.Sscan(value, count); n != 1 || err != nil || *count < 1 || fmt.Sprint(*count) != value {
			return fmt.Errorf("want a number above 0, have %q", value)
		}
	case name == "maxCost":
		micros, err := execution.ParseMicros(value)
		if err != nil || micros == 0 {
			return fmt.Errorf("want an amount above 0 such as 0.50, have %q", value)
		}
		l.MaxCost = micros
	case name == "deadline":
		deadline, err := time.ParseDuration(value)
		if err != nil || deadline <= 0 {
			return fmt.Errorf("want a duration such as 10m, have %q", value)
		}
		l.Deadline = deadline
	case name == onExceeded:
		if value != "suspend" {
			return fmt.Errorf("want suspend, have %q", value)
		}
		l.SuspendOnExceeded = true
	default:
		return fmt.Errorf("there is no limit %q", name)
	}
	return nil
}
