package main

import (
	"bytes"
	"encoding/json"
	"os"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/execution"
)

// overrides are the flags by which a submission says something in place of its agent.
type overrides struct {
	model        string
	instructions string
	outputSchema string
	limits       limitFlags
}

func (o *overrides) declare(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.model, "model", "", "the provider's name of another model")
	flags.StringVar(&o.instructions, "instructions", "", "instructions in place of the agent's")
	flags.StringVar(&o.outputSchema, "output-schema", "", "FILE with the JSON Schema of the answer")
	o.limits.declare(cmd)
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
	var err error
	request.Limits, err = o.limits.read()
	return err
}
