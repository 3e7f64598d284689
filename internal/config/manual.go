package config

import (
	"fmt"
	"io"
)

const manualHead = `# Configuration

The programs are configured by the environment, and by nothing else. Every program prints its own table with ` + "`-h`" + `; this
page holds them all (` + "`make docs`" + ` writes it, a test compares it). A name that no program knows is refused at start, with the
one that was probably meant; a name of another program is left alone. An empty value counts as not set. Durations are
written ` + "`500ms`, `15s` or `24h`" + `, sizes ` + "`512KiB` or `1MiB`" + `, switches ` + "`1` or `0`" + `.
`

// Manual prints the page of all names: what Usage prints for each of the programs, as Markdown.
func Manual(out io.Writer) error {
	if _, err := io.WriteString(out, manualHead); err != nil {
		return fmt.Errorf("print the manual: %w", err)
	}
	for _, program := range []struct {
		title  string
		config any
	}{
		{"`api`", &API{}},
		{"`worker`", &Worker{}},
		{"`reaper`", &Reaper{}},
		{"`pawl dev`", &Dev{}},
		{"`pawl keys`", &Keys{}},
		{"`pawl doctor`", &Doctor{}},
		{"Every other command of `pawl`", &Client{}},
	} {
		if _, err := fmt.Fprintf(out, "\n## %s\n\n```text\n", program.title); err != nil {
			return fmt.Errorf("print the manual: %w", err)
		}
		if err := Usage(out, program.config); err != nil {
			return err
		}
		if _, err := io.WriteString(out, "```\n"); err != nil {
			return fmt.Errorf("print the manual: %w", err)
		}
	}
	return nil
}
