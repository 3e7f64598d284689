package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/execution"
)

// listRequest is what the flags of `pawl list` say.
type listRequest struct {
	filter
	limit     int
	all, json bool
}

func newList(s streams, dial dialer) *cobra.Command {
	var asked listRequest
	cmd := &cobra.Command{
		Use: "list [flags]", Short: "List executions, the newest first", Args: cobra.NoArgs,
		Long: "List the executions that you may see, the newest first.\n\nWith --json each is a line of JSON: its view.",
		Example: asTyped(self(), `  pawl list --state waiting_for_input
  pawl list --metadata order=7 --updated-since 24h --all --json`),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asked.limit < 1 {
				return wrongUsage("--limit: want a number above 0, have %d", asked.limit)
			}
			query, err := asked.query(time.Now())
			if err != nil {
				return err
			}
			api, url, err := dial()
			if err != nil {
				return err
			}
			return asked.list(cmd.Context(), s, api, url, query)
		},
	}
	asked.declare(cmd)
	flags := cmd.Flags()
	flags.IntVar(&asked.limit, "limit", 50, "how many at most")
	flags.BoolVar(&asked.all, "all", false, "all of them, however many")
	flags.BoolVar(&asked.json, "json", false, "print JSON: one view per line")
	return cmd
}

// pageOfList is how many executions a page has.
const pageOfList = 100

// list prints page by page. The pages of one table have the same columns when they fit.
func (a *listRequest) list(ctx context.Context, s streams, api remote, url string, query execution.ListQuery) error {
	t := new(table)
	for left := a.limit; a.all || left > 0; {
		query.Limit = pageOfList
		if !a.all {
			query.Limit = min(left, pageOfList)
		}
		page, err := api.List(ctx, query)
		if err != nil {
			return explain(ctx, url, err)
		}
		first := query.Cursor == ""
		if err := a.print(s, t, page.Executions, first); err != nil {
			return err
		}
		left -= len(page.Executions)
		if query.Cursor = page.NextCursor; query.Cursor == "" {
			return nil
		}
	}
	if s.outTerminal {
		return say(s.err, "There may be more: see --limit and --all")
	}
	return nil
}

func (a *listRequest) print(s streams, t *table, views []execution.View, first bool) error {
	if first && !a.json {
		t.row("ID", "STATE", "AGENT", "CREATED", "CHANGED", "ABOUT")
	}
	for _, view := range views {
		if a.json {
			if err := sayJSON(s.out, view); err != nil {
				return err
			}
			continue
		}
		t.row(string(view.ID), string(view.State), oneLine(view.Agent), instant(view.CreatedAtMs), instant(view.UpdatedAtMs), about(view))
	}
	if err := t.flush(s.out); err != nil {
		return fail("%w", err)
	}
	return nil
}

// about is the beginning of what a person wants to know of an execution in its state.
func about(view execution.View) string {
	text := ""
	switch {
	case view.Outcome != nil:
		text = view.Outcome.Answer
	case view.Failure != nil:
		text = view.Failure.Code + ": " + view.Failure.Message
	case view.Suspension != nil:
		text = strings.TrimSuffix(string(view.Suspension.Reason)+": "+view.Suspension.Detail, ": ")
	case view.Interaction != nil:
		text = view.Interaction.Prompt
	case view.Wait != nil:
		text = "waits: " + string(view.Wait.Kind)
	}
	return clip(text, 51)
}
