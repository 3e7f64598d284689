package main

import (
	"encoding/json"
	"io"

	"github.com/spf13/cobra"
)

func newBlob(s streams, dial dialer) *cobra.Command {
	return &cobra.Command{
		Use: "blob ID HASH", Short: "Print a stored tool result", Args: cobra.ExactArgs(2),
		Long: "Print a tool result that is stored beside its execution because it is large: a text as it is, anything else as JSON.\n" +
			"The event tool_completed names its hash, and so does what the model was given of it.",
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseID(args[0])
			if err != nil {
				return err
			}
			api, url, err := dial()
			if err != nil {
				return err
			}
			content, err := api.Blob(cmd.Context(), id, args[1])
			if err != nil {
				return explain(cmd.Context(), url, err)
			}
			var text string
			if json.Unmarshal(content, &text) != nil {
				text = string(content)
			}
			if _, err := io.WriteString(s.out, text); err != nil {
				return fail("%w", err)
			}
			return nil
		},
	}
}
