package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/execution"
)

// target is the execution that a command is about, and the API that has it.
type target struct {
	api remote
	url string
	id  execution.ID
}

// onExecution runs a command whose first argument is the id of an execution; rest are the other arguments.
func onExecution(
	dial dialer, do func(ctx context.Context, to target, rest []string) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		id, err := parseID(args[0])
		if err != nil {
			return err
		}
		api, url, err := dial()
		if err != nil {
			return err
		}
		return do(cmd.Context(), target{api: api, url: url, id: id}, args[1:])
	}
}

// explain says what a person can do about an error of the API.
func (t target) explain(ctx context.Context, err error) error { return explain(ctx, t.url, err) }
