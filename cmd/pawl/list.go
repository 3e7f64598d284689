package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/execution"
)

// listRequest is what the flags of `pawl list` say.
type listRequest struct {
	state, agent, conversation string
	metadata                   []string
	since                      string
	limit                      int
	all, json                  bool
}

func newList(s streams, dial dialer) *cobra.Command {
	var asked listRequest
	cmd := &cobra.Command{
		Use: "list [flags]", Short: "List executions, the newest first",
		Long: "List the executions that you may see, the newest first. With --json each is a line of JSON: its view.",
		Example: asTyped(self(), `  pawl list --state waiting_for_input
  pawl list --metadata order=7 --updated-since 24h --all --json`),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
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
	var states []string
	for _, state := range execution.States() {
		states = append(states, string(state))
	}
	flags := cmd.Flags()
	flags.StringVar(&asked.state, "state", "", "only those in this state: "+strings.Join(states, ", "))
	flags.StringVar(&asked.agent, "agent", "", "only those of this agent")
	flags.StringVar(&asked.conversation, "conversation", "", "only those of this conversation")
	flags.StringArrayVar(&asked.metadata, "metadata", nil, "only those with NAME=VALUE in their metadata; may be repeated")
	flags.StringVar(&asked.since, "updated-since", "", "only those that changed since: 90m ago, or at an instant like 2026-01-31T08:00:00Z")
	flags.IntVar(&asked.limit, "limit", 50, "how many at most")
	flags.BoolVar(&asked.all, "all", false, "all of them, however many")
	flags.BoolVar(&asked.json, "json", false, "print JSON: one view per line")
	return cmd
}

func (a *listRequest) query(now time.Time) (execution.ListQuery, error) {
	query := execution.ListQuery{
		State: execution.State(a.state), Agent: a.agent, ConversationID: execution.ConversationID(a.conversation),
	}
	if a.limit < 1 {
		return query, wrongUsage("--limit: want a number above 0, have %d", a.limit)
	}
	for _, pair := range a.metadata {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return query, wrongUsage("--metadata: want NAME=VALUE, have %q", pair)
		}
		if query.Metadata == nil {
			query.Metadata = make(map[string]string)
		}
		query.Metadata[name] = value
	}
	if a.since == "" {
		return query, nil
	}
	if ago, err := time.ParseDuration(a.since); err == nil && ago >= 0 {
		query.UpdatedSinceMs = now.Add(-ago).UnixMilli()
		return query, nil
	}
	at, err := time.Parse(time.RFC3339, a.since)
	if err != nil {
		return query, wrongUsage("--updated-since: want a duration like 90m or an instant like 2026-01-31T08:00:00Z, have %q", a.since)
	}
	query.UpdatedSinceMs = at.UnixMilli()
	return query, nil
}

// pageOfList is how many executions a page has.
const pageOfList = 100

// list prints page by page. The pages of one table have the same columns when they fit.
func (a *listRequest) list(ctx context.Context, s streams, api remote, url string, query execution.ListQuery) error {
	table := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
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
		if err := a.print(s, table, page.Executions, first); err != nil {
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

func (a *listRequest) print(s streams, table *tabwriter.Writer, views []execution.View, first bool) error {
	if a.json {
		for _, view := range views {
			line, err := json.Marshal(view)
			if err != nil {
				return fail("print the view: %w", err)
			}
			if err := say(s.out, string(line)); err != nil {
				return err
			}
		}
		return nil
	}
	if first {
		_, _ = fmt.Fprintln(table, "ID\tSTATE\tAGENT\tCREATED\tCHANGED\tABOUT") // Flush says what became of it
	}
	for _, view := range views {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", // see above
			view.ID, view.State, oneLine(view.Agent), instant(view.CreatedAtMs), instant(view.UpdatedAtMs), about(view))
	}
	if err := table.Flush(); err != nil {
		return &exit{code: exitFailed, err: err}
	}
	return nil
}

// instant is a time of this machine's zone, to the second.
func instant(ms int64) string { return time.UnixMilli(ms).Format("2006-01-02 15:04:05") }

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
	const longest = 50
	if runes := []rune(oneLine(text)); len(runes) > longest {
		return string(runes[:longest]) + "…"
	}
	return oneLine(text)
}
