package main

import (
	"context"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/execution"
)

// tokenJSON is what `pawl stream-token --json` prints.
type tokenJSON struct {
	execution.StreamToken
	URL string `json:"url"`
}

func newToken(s streams, dial dialer) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "stream-token ID", Short: "Print an address that opens an execution's stream without a key", Args: cobra.ExactArgs(1),
		Long: "Print an address that opens the stream of one execution for ten minutes, for whoever cannot send a key, such as\n" +
			"a page in a browser.\n\nWith --json one value: {token, expiresAtMs, url}.",
		Example: asTyped(self(), `  curl -N -H "Accept: text/event-stream" "$(pawl stream-token exec_07…)"`),
		RunE: onExecution(dial, func(ctx context.Context, to target, _ []string) error {
			token, err := to.api.StreamToken(ctx, to.id)
			if err != nil {
				return to.explain(ctx, err)
			}
			at := strings.TrimRight(to.url, "/") + "/v1/executions/" + string(to.id) + "/events?" + url.Values{"token": {token.Token}}.Encode()
			if asJSON {
				return sayJSON(s.out, tokenJSON{StreamToken: token, URL: at})
			}
			return say(s.out, at)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
