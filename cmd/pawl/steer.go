package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/execution"
)

// steering is a command that changes the course of one execution.
type steering struct {
	name, short, long string
	do                func(ctx context.Context, api remote, id execution.ID) (execution.Steered, error)
	// reached reports whether the command has done its work; else its holder is still to carry it out.
	reached func(execution.State) bool
}

// newSteering is the command line of a steering.
func newSteering(s streams, dial dialer, what steering) *cobra.Command {
	return &cobra.Command{
		Use: what.name + " ID", Short: what.short, Long: what.long, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseID(args[0])
			if err != nil {
				return err
			}
			api, url, err := dial()
			if err != nil {
				return err
			}
			steered, err := what.do(cmd.Context(), api, id)
			if err != nil {
				return explain(cmd.Context(), url, err)
			}
			return say(s.out, what.became(id, steered))
		},
	}
}

// became says in a line what became of the command.
func (w *steering) became(id execution.ID, steered execution.Steered) string {
	switch {
	case !steered.Changed:
		return fmt.Sprintf("%s is %s: nothing to %s", id, steered.View.State, w.name)
	case !w.reached(steered.View.State):
		return fmt.Sprintf("%s: %s requested", id, w.name)
	default:
		return fmt.Sprintf("%s is %s", id, steered.View.State)
	}
}

func newCancel(s streams, dial dialer) *cobra.Command {
	return newSteering(s, dial, steering{
		name: "cancel", short: "Cancel an execution",
		long: "Cancel an execution. A request in flight is closed within a second, and no step starts after it.\n" +
			"An execution that has ended is left as it is.",
		do: func(ctx context.Context, api remote, id execution.ID) (execution.Steered, error) {
			return api.Cancel(ctx, id)
		},
		reached: execution.State.Terminal,
	})
}

func newPause(s streams, dial dialer) *cobra.Command {
	return newSteering(s, dial, steering{
		name: "pause", short: "Suspend an execution until it is resumed",
		long: "Suspend an execution until it is resumed. A node in flight ends first; no step starts after it. One that is\n" +
			"suspended already is left as it is.",
		do: func(ctx context.Context, api remote, id execution.ID) (execution.Steered, error) {
			return api.Pause(ctx, id)
		},
		reached: func(state execution.State) bool { return state == execution.Suspended },
	})
}

func newResume(s streams, dial dialer) *cobra.Command {
	var reason string
	cmd := newSteering(s, dial, steering{
		name: "resume", short: "Take a suspended execution back to where it was",
		long: "Take a suspended execution back to where it was, whatever it was suspended for, with all its attempts. One that\n" +
			"is not suspended is left as it is.",
		do: func(ctx context.Context, api remote, id execution.ID) (execution.Steered, error) {
			return api.Resume(ctx, id, execution.ResumeRequest{Reason: reason})
		},
		reached: func(execution.State) bool { return true },
	})
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the log of the API")
	return cmd
}
