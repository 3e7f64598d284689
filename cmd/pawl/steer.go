package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/execution"
)

// steering is a command that changes the course of one execution.
type steering struct {
	name, short, long, example string
	do                         func(ctx context.Context, api remote, id execution.ID) (execution.Steered, error)
	// reached reports whether the command has done its work; else its holder is still to carry it out.
	reached func(execution.State) bool
}

// steeredJSON is what steering commands print with --json.
type steeredJSON struct {
	Changed bool           `json:"changed"`
	View    execution.View `json:"view"`
}

// newSteering is the command line of a steering.
func newSteering(s streams, dial dialer, what steering) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: what.name + " ID", Short: what.short, Args: cobra.ExactArgs(1), Example: asTyped(self(), what.example),
		Long: what.long + "\n\nWith --json one value: {changed, view}, where changed is false when there was nothing to do.",
		RunE: onExecution(dial, func(ctx context.Context, to target, _ []string) error {
			steered, err := what.do(ctx, to.api, to.id)
			if err != nil {
				return to.explain(ctx, err)
			}
			if asJSON {
				return sayJSON(s.out, steeredJSON{Changed: steered.Changed, View: steered.View})
			}
			return say(s.out, what.became(to.id, steered))
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
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
		name: "cancel", example: "  pawl cancel exec_07…", short: "Cancel an execution",
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
		name: "pause", example: "  pawl pause exec_07…", short: "Suspend an execution until it is resumed",
		long: "Suspend an execution until it is resumed. A node in flight ends first; no step starts after it. One that is\n" +
			"suspended already is left as it is.",
		do: func(ctx context.Context, api remote, id execution.ID) (execution.Steered, error) {
			return api.Pause(ctx, id)
		},
		reached: func(state execution.State) bool { return state == execution.Suspended },
	})
}

func newRelease(s streams, dial dialer) *cobra.Command {
	return newSteering(s, dial, steering{
		name: "release", example: "  pawl why exec_07…\n  pawl release exec_07…",
		short: "Take an execution from a worker that hangs",
		long: "Take the claim on an execution from the worker that holds it, and make its step runnable again: for a worker that\n" +
			"looks alive and hangs. That worker can write nothing from then on; what its step has sent to models and tools\n" +
			"may be sent again, as after a crash. It needs a key of role operate. See first what `pawl why` says.",
		do: func(ctx context.Context, api remote, id execution.ID) (execution.Steered, error) {
			return api.Release(ctx, id)
		},
		reached: func(execution.State) bool { return true },
	})
}

func newResume(s streams, dial dialer) *cobra.Command {
	var request execution.ResumeRequest
	var limits limitFlags
	cmd := newSteering(s, dial, steering{
		name: "resume", example: "  pawl resume exec_07…\n  pawl resume --reason \"the tool is back\" exec_07…\n  pawl resume --max-cost 2 --deadline 48h exec_07…", short: "Take a suspended execution back to where it was",
		long: "Take a suspended execution back to where it was, whatever it was suspended for, with all its attempts. One that\n" +
			"is not suspended is left as it is. Limits replace those it has, each by itself: one that is suspended for a limit\n" +
			"needs a higher one to go on. A child takes no more of a limit than its parent has left: pause the parent and resume\n" +
			"that with more first.",
		do: func(ctx context.Context, api remote, id execution.ID) (execution.Steered, error) {
			var err error
			if request.Limits, err = limits.read(); err != nil {
				return execution.Steered{}, err
			}
			return api.Resume(ctx, id, request)
		},
		reached: func(execution.State) bool { return true },
	})
	cmd.Flags().StringVar(&request.Reason, "reason", "", "why, for the log of the API")
	limits.declare(cmd)
	return cmd
}
