package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/execution"
)

// overrides are the flags by which a submission says something in place of its agent.
type overrides struct {
	model        string
	instructions string
	outputSchema string
	limits       []string
}

func (o *overrides) declare(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.model, "model", "", "the provider's name of another model")
	flags.StringVar(&o.instructions, "instructions", "", "instructions in place of the agent's")
	flags.StringVar(&o.outputSchema, "output-schema", "", "FILE with the JSON Schema of the answer")
	flags.StringSliceVar(&o.limits, "limits", nil,
		"NAME=VALUE,… in place of the agent's, such as maxModelRequests=5,deadline=10m,maxCost=0.50; names as in agent files")
}

// apply puts them into a request.
func (o *overrides) apply(request *execution.CreateRequest) error {
	request.Model, request.Instructions = o.model, o.instructions
	if o.outputSchema != "" {
		schema, err := os.ReadFile(o.outputSchema)
		if err != nil {
			return wrongUsage("--output-schema: %w", err)
		}
		if !json.Valid(schema) {
			return wrongUsage("--output-schema: %s holds no JSON", o.outputSchema)
		}
		request.OutputSchema = bytes.TrimSpace(schema)
	}
	if len(o.limits) == 0 {
		return nil
	}
	var limits execution.Limits
	for _, pair := range o.limits {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return wrongUsage("--limits: want NAME=VALUE, have %q", pair)
		}
		if err := setLimit(&limits, name, value); err != nil {
			return wrongUsage("--limits: %w", err)
		}
	}
	request.Limits = &limits
	return nil
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
