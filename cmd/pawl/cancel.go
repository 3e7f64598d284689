package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newCancel(s streams, dial dialer) *cobra.Command {
	return &cobra.Command{
		Use: "cancel ID", Short: "Cancel an execution",
		Long: "Cancel an execution. A request in flight is closed within a second, and no step starts after it.\n" +
			"An execution that has ended is left as it is.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseID(args[0])
			if err != nil {
				return err
			}
			api, url, err := dial()
			if err != nil {
				return err
			}
			steered, err := api.Cancel(cmd.Context(), id)
			if err != nil {
				return explain(cmd.Context(), url, err)
			}
			text := fmt.Sprintf("%s is %s", id, steered.View.State)
			switch {
			case !steered.Changed:
				text += ": nothing to cancel"
			case !steered.View.State.Terminal():
				text = fmt.Sprintf("%s: cancel requested", id)
			}
			if _, err := fmt.Fprintln(s.out, text); err != nil {
				return fail("%w", err)
			}
			return nil
		},
	}
}
