package main

import (
	"context"
	"encoding/json"
	"io"

	"github.com/spf13/cobra"
)

func newBlob(s streams, dial dialer) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "blob ID HASH", Short: "Print a stored tool result", Args: cobra.ExactArgs(2),
		Long: "Print a tool result that is stored beside its execution because it is large: a text as it is, anything else as JSON.\n" +
			"The event tool_completed names its hash, and so does what the model was given of it.\n\n" +
			"With --json one value: the result, a text too.",
		RunE: onExecution(dial, func(ctx context.Context, to target, rest []string) error {
			content, err := to.api.Blob(ctx, to.id, rest[0])
			if err != nil {
				return to.explain(ctx, err)
			}
			var text string
			if asJSON || json.Unmarshal(content, &text) != nil {
				text = string(content)
			}
			if _, err := io.WriteString(s.out, text); err != nil {
				return fail("%w", err)
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
