package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

var update = flag.Bool("update", false, "write docs/cli.md anew") //nolint:gochecknoglobals // a flag

const manualHead = `# The command line

` + "`pawl`" + ` runs Pawl on this machine and talks to an API anywhere. This page holds what every command says of itself with
` + "`-h`" + ` (` + "`make docs`" + ` writes it, a test compares it).

The commands that talk to an API find it by PAWL_URL and show it the key in PAWL_API_KEY. Ids and answers go to standard
output, questions and remarks to standard error. Nothing is colored; control characters in what models and tools say are
left out. With ` + "`--json`" + ` a command prints one JSON value, or one per line where it lists or follows: views, events and pages are
those of the [HTTP API](api.md). What cannot be undone is asked about at a terminal, and needs ` + "`--yes`" + ` elsewhere.
A flag with an empty value, as of a variable that is not set, is wrong usage; only texts such as ` + "`--answer`" + ` may be empty.

| exit code | meaning |
|---|---|
| 0 | done; of what follows an execution: it completed |
| 1 | the execution failed; or the program that was run did |
| 2 | wrong usage: nothing was sent |
| 3 | the execution was canceled |
| 4 | the execution is suspended |
| 5 | no answer, or a refusal; of a command about several executions: by one of them |
| 130 | interrupted |
| 141 | the reader of a pipe has gone |

`

func TestManualIsWhatTheCommandsSay(t *testing.T) {
	t.Parallel()
	page := filepath.Join("..", "..", "docs", "cli.md")
	want := manual(t)
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o644))
	}
	have, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, want, string(have), "make docs writes it")
}

func manual(t *testing.T) string {
	t.Helper()
	root := newRoot(streams{}, newFake(execution.View{}).dial)
	var lines, sections strings.Builder
	var describe func(cmd *cobra.Command)
	describe = func(cmd *cobra.Command) {
		for _, below := range cmd.Commands() {
			if below.Hidden || below.Name() == "help" || below.Name() == "completion" {
				continue
			}
			path := below.CommandPath()
			fmt.Fprintf(&lines, "| [`%s`](#%s) | %s |\n", path, strings.ReplaceAll(path, " ", "-"), below.Short)
			said := typeCommand(t, newFake(execution.View{}), false, nil, append(strings.Fields(path)[1:], "-h")...)
			require.Zero(t, said.code)
			fmt.Fprintf(&sections, "## `%s`\n\n```text\n%s\n```\n\n", path, strings.TrimRight(said.out, "\n"))
			describe(below)
		}
	}
	describe(root)
	return manualHead + "| command | what it does |\n|---|---|\n" + lines.String() + "\n" + strings.TrimRight(sections.String(), "\n") + "\n"
}

func TestEveryCommandThatPrintsAnswersHasJSON(t *testing.T) {
	t.Parallel()
	root := newRoot(streams{}, newFake(execution.View{}).dial)
	without := map[string]bool{"dev": true, "schema": true, "help": true, "completion": true}
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		for _, below := range cmd.Commands() {
			if below.Hidden || without[below.Name()] {
				continue
			}
			if below.HasSubCommands() {
				check(below)
				continue
			}
			flag := below.Flags().Lookup("json")
			require.NotNil(t, flag, below.CommandPath())
			require.Contains(t, below.Long+flag.Usage, "JSON", below.CommandPath())
		}
	}
	check(root)
}
