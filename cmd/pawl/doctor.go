package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/app"
	"github.com/pawl-run/pawl/internal/config"
)

const doctorHelp = `Look through everything that is stored, in the Redis of an installation, while it works: whether every execution is in
exactly one of the indexes by which it is found again, in its listings and in its conversation, whether every entry of an index
stands for something, whether the newest checkpoints of open executions can be read, whether the stored results that receipts of open
executions name are there, and whether each queue that holds tasks has a live worker. Records of a later release are told apart from
damaged ones. It goes through all keys, a few at a time.

--repair mends what needs no judgment: it puts entries where they belong, and changes no execution. What is left is for people.

--logs reads every event of every log too, and names those that cannot be read: they are damaged, or another release wrote
them. No execution needs its log to go on.

--bytes weighs every key by its kind, and says when keys of that kind go.

It ends with 1 when something was found that was not mended. With --json one value: {rows, entries, open, workers, findings
[{code, key, detail, mended}], found, mended, bytes?}; findings are the first 1,000.

The names of the environment that it obeys:

`

// maxFindings bounds how many findings are kept for --json.
const maxFindings = 1000

func newDoctor(s streams) *cobra.Command {
	var what app.Examination
	var asJSON bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Look for, and mend, what is not as it should be in Redis", Long: doctorHelp + usageOf(&config.Doctor{}),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var cfg config.Doctor
			if err := config.Load(&cfg); err != nil {
				return wrongUsage("%w", err)
			}
			return examine(cmd.Context(), s, cfg, what, asJSON)
		},
	}
	cmd.Flags().BoolVar(&what.Repair, "repair", false, "mend what needs no judgment")
	cmd.Flags().BoolVar(&what.Logs, "logs", false, "read every event of every log, too")
	cmd.Flags().BoolVar(&what.Bytes, "bytes", false, "weigh every key, by kind")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// examined is what `pawl doctor --json` prints.
type examined struct {
	app.Diagnosis
	Findings []app.Finding `json:"findings"`
	Found    int           `json:"found"`
	Mended   int           `json:"mended"`
}

func examine(ctx context.Context, s streams, cfg config.Doctor, what app.Examination, asJSON bool) error {
	seen := examined{Findings: []app.Finding{}}
	var printed error
	diagnosis, err := app.Examine(ctx, cfg, what, func(f app.Finding) {
		seen.Found++
		if f.Mended {
			seen.Mended++
		}
		if len(seen.Findings) < maxFindings {
			seen.Findings = append(seen.Findings, f)
		}
		if !asJSON && printed == nil {
			printed = say(s.out, findingLine(f))
		}
	})
	switch {
	case ctx.Err() != nil:
		return &exit{code: exitInterrupted}
	case err != nil:
		return fail("%w", err)
	case printed != nil:
		return printed
	}
	seen.Diagnosis = diagnosis
	if asJSON {
		err = sayJSON(s.out, seen)
	} else {
		err = seen.print(s, what.Repair)
	}
	if err == nil && seen.Found > seen.Mended {
		err = &exit{code: exitFailed}
	}
	return err
}

func findingLine(f app.Finding) string {
	line := fmt.Sprintf("%s  %s  %s", f.Code, oneLine(f.Key), oneLine(f.Detail))
	if f.Mended {
		line += "  (mended)"
	}
	return line
}

// print says in words what was counted.
func (e *examined) print(s streams, repaired bool) error {
	var states []string
	for _, state := range execution.States() {
		if n := e.Rows[state]; n > 0 {
			states = append(states, fmt.Sprintf("%d %s", n, state))
		}
	}
	lines := []string{
		"Executions: " + orNone(strings.Join(states, ", ")) + ".",
		fmt.Sprintf("Entries of indexes: %d. Open executions, as the indexes have it: %d. Live workers: %d.", e.Entries, e.Open, e.Workers),
	}
	if len(e.Bytes) > 0 {
		if err := weights(e.Bytes).flush(s.out); err != nil {
			return fail("%w", err)
		}
	}
	switch left := e.Found - e.Mended; {
	case e.Found == 0:
		lines = append(lines, "Everything is as it should be.")
	case left == 0:
		lines = append(lines, fmt.Sprintf("Mended: %d.", e.Mended))
	case repaired:
		lines = append(lines, fmt.Sprintf("Found: %d. Mended: %d. The other %d are for people to judge.", e.Found, e.Mended, left))
	default:
		lines = append(lines, fmt.Sprintf("Found: %d. To mend what needs no judgment: %s doctor --repair", e.Found, self()))
	}
	return say(s.out, strings.Join(lines, "\n"))
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// weights is the kinds of keys, the heaviest first.
func weights(lines []app.Weight) *table {
	lines = slices.Clone(lines)
	slices.SortFunc(lines, func(a, b app.Weight) int { return int(min(max(b.Bytes-a.Bytes, -1), 1)) })
	t := &table{}
	t.row("BYTES", "KEYS", "KIND", "THEY GO")
	for _, line := range lines {
		leaves := line.Leaves
		if line.Name == app.UnknownKeys {
			leaves = "this release does not know: " + oneLine(strings.Join(line.Names, " "))
		}
		t.row(fmt.Sprint(line.Bytes), fmt.Sprint(line.Count), line.Name, leaves)
	}
	return t
}
