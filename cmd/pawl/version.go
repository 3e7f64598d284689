package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/version"
)

func newVersion(s streams) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Say which build this is", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if _, err := fmt.Fprintln(s.out, "pawl "+version.Read().String()); err != nil {
				return fail("%w", err)
			}
			return nil
		},
	}
}
