package config

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/kelseyhightower/envconfig"
)

const usageTable = `{{range .}}  {{usage_key .}}	{{if usage_required .}}(required){{else if usage_default .}}{{usage_default .}}{{else}}-{{end}}	{{usage_description .}}
{{end}}`

// Usage prints the names that target's program obeys, with default and meaning, as a table.
func Usage(out io.Writer, target any) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if _, err := fmt.Fprintln(table, "  NAME\tDEFAULT\tMEANING"); err != nil {
		return fmt.Errorf("print names: %w", err)
	}
	if err := envconfig.Usagef("", target, table, usageTable); err != nil {
		return fmt.Errorf("print names: %w", err)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print names: %w", err)
	}
	return nil
}
