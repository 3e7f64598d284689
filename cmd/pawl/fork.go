package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/execution"
)

func newFork(s streams, dial dialer) *cobra.Command {
	var request execution.ForkRequest
	var step int64
	var key string
	var after afterwards
	cmd := &cobra.Command{
		Use: "fork --step N [flags] ID [TEXT…]", Short: "Go on from a step of an execution, as a new one", Args: cobra.MinimumNArgs(1),
		Long: "Submit an execution that goes on from a step of another one, in a conversation of its own: its history is that of\n" +
			"the other up to there, followed by TEXT if there is one. The other stays as it is. `pawl checkpoints ID` shows\n" +
			"the steps. The limits are those that the other was submitted with, whatever a resume made of them: a fork of one\n" +
			"that is suspended for a limit may stop at it again. Prints the new id, or follows it with --watch.\n\n" +
			"With --json one value: its view; or with --watch one event per line.",
		Example: asTyped(self(), `  pawl fork exec_07… --step 4
  pawl fork exec_07… --step 4 --model another --watch "Try Bergen instead"`),
		RunE: onExecution(dial, func(ctx context.Context, to target, rest []string) error {
			if step < 0 {
				return wrongUsage("--step: name the step to go on from, 0 or above; `%s checkpoints %s` shows them", self(), to.id)
			}
			request.Step = execution.Step(step)
			if text := strings.Join(rest, " "); text != "" {
				request.Input = &execution.Input{Type: execution.UserMessage, Text: text}
			}
			created, err := to.api.Fork(ctx, to.id, key, request)
			if err != nil {
				return forkHint(to.id, err, to.explain(ctx, err))
			}
			return after.tell(ctx, s, to.api, to.url, created)
		}),
	}
	flags := cmd.Flags()
	flags.Int64Var(&step, "step", -1, "the `STEP` to go on from (required)")
	flags.StringVar(&request.Model, "model", "", "the provider's name of another model")
	flags.StringVar(&request.Instructions, "instructions", "", "instructions in place of those it had")
	flags.StringVar(&key, "key", "", "idempotency key: forking again with it gives the same execution")
	after.declare(cmd)
	flags.Lookup("step").DefValue = "0" // that is what is not printed: there is none
	return cmd
}

// forkHint adds where steps are shown to what was wrong with one.
func forkHint(id execution.ID, err, told error) error {
	var problem *execution.APIError
	if errors.As(err, &problem) && problem.Field == "step" {
		return fail("%w\nThe steps: %s checkpoints %s", told, self(), id)
	}
	return told
}

// afterwards is what a command does with an execution that it has submitted.
type afterwards struct{ watch, json bool }

func (a *afterwards) declare(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&a.watch, "watch", "w", false, "follow the execution to its end")
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON: the view, or with --watch one event per line")
}

func (a *afterwards) tell(ctx context.Context, s streams, api remote, url string, created execution.Created) error {
	switch {
	case a.watch:
		return watch(ctx, s, api, url, created.View.ID, a.json)
	case a.json:
		return sayJSON(s.out, created.View)
	}
	if err := say(s.out, string(created.View.ID)); err != nil {
		return err
	}
	if s.outTerminal {
		return say(s.err, fmt.Sprintf("Follow it with: %s watch %s", self(), created.View.ID))
	}
	return nil
}
