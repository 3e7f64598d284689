package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/version"
)

func newVersion(s streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "version", Short: "Say which build this is", Args: cobra.NoArgs,
		Long: "Say which build this is.\n\nWith --json one value: {version, revision, time, modified, go, platform}.",
		RunE: func(*cobra.Command, []string) error {
			if b := version.Read(); asJSON {
				return sayJSON(s.out, map[string]any{
					"version": b.Version, "revision": b.Revision, "time": b.Time, "modified": b.Modified, "go": b.Go, "platform": b.Platform,
				})
			}
			if _, err := fmt.Fprintln(s.out, "pawl "+version.Read().String()); err != nil {
				return fail("%w", err)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
