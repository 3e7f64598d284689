package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/execution"
)

// bulkRequest is what the flags of `pawl bulk` say.
type bulkRequest struct {
	filter
	action            execution.BulkAction
	limit             int
	dryRun, yes, json bool
}

// bulkDone is what `pawl bulk --json` prints: what all its calls did.
type bulkDone struct {
	Action     execution.BulkAction    `json:"action"`
	DryRun     bool                    `json:"dryRun"`
	Matched    int                     `json:"matched"`
	Changed    int                     `json:"changed"`
	Executions []execution.ID          `json:"executions"`
	Failed     []execution.BulkFailure `json:"failed,omitempty"`
}

func newBulk(s streams, dial dialer) *cobra.Command {
	cmd := &cobra.Command{
		Use: "bulk", Short: "Cancel or resume many executions by filter", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newBulkAction(s, dial, execution.BulkCancel), newBulkAction(s, dial, execution.BulkResume))
	return cmd
}

func newBulkAction(s streams, dial dialer, action execution.BulkAction) *cobra.Command {
	asked := bulkRequest{action: action}
	name := string(action)
	long := "Cancel the executions that pass every filter that is given"
	if action == execution.BulkResume {
		long = "Resume the suspended executions that pass every filter that is given"
	}
	cmd := &cobra.Command{
		Use: name + " [flags]", Short: long, Args: cobra.NoArgs,
		Long: long + "; at least one filter is needed. --dry-run says which\n" +
			"they would be and does nothing. At a terminal it counts them and asks; elsewhere it needs --yes. Prints the ids of\n" +
			"those that took it. Some may refuse: they are told, the others are not held up, and the exit code is 5.\n\n" +
			"With --json one value: {action, dryRun, matched, changed, executions: [ID…], failed?: [{id, code, detail}…]}.",
		Example: asTyped(self(), fmt.Sprintf("  pawl bulk %s --agent demo --metadata customer=7 --dry-run\n  pawl bulk %s --state suspended --yes", name, name)),
		RunE: func(cmd *cobra.Command, _ []string) error {
			request, err := asked.request(time.Now())
			if err != nil {
				return err
			}
			api, url, err := dial()
			if err != nil {
				return err
			}
			return asked.run(cmd.Context(), s, api, url, request)
		},
	}
	asked.declare(cmd)
	flags := cmd.Flags()
	flags.IntVar(&asked.limit, "limit", 0, "how many at most (default all)")
	flags.BoolVar(&asked.dryRun, "dry-run", false, "say which they would be, and do nothing")
	flags.BoolVarP(&asked.yes, "yes", "y", false, "do not ask")
	flags.BoolVar(&asked.json, "json", false, "print JSON")
	return cmd
}

func (b *bulkRequest) request(now time.Time) (execution.BulkRequest, error) {
	request := execution.BulkRequest{Action: b.action, DryRun: b.dryRun}
	if b.limit < 0 {
		return request, wrongUsage("--limit: want a number, 0 or above, have %d", b.limit)
	}
	query, err := b.query(now)
	if err != nil {
		return request, err
	}
	if b.state == "" && b.agent == "" && b.conversation == "" && len(b.metadata) == 0 && b.since == "" {
		return request, wrongUsage("say which executions are meant: --state, --agent, --conversation, --metadata or --updated-since")
	}
	request.Filter = execution.BulkFilter{
		State: query.State, Agent: query.Agent, ConversationID: query.ConversationID,
		Metadata: query.Metadata, UpdatedSinceMs: query.UpdatedSinceMs,
	}
	return request, nil
}

// run does it, at a terminal after it has counted and asked.
func (b *bulkRequest) run(ctx context.Context, s streams, api remote, url string, request execution.BulkRequest) error {
	if !b.dryRun && !b.yes && s.inTerminal {
		dry := request
		dry.DryRun = true
		found, err := b.carryOut(ctx, api, dry)
		if err != nil {
			return explain(ctx, url, err)
		}
		if found.Changed == 0 {
			return say(s.err, fmt.Sprintf("Nothing to %s: %s.", b.action, matchText(found.Matched)))
		}
		if err := confirm(ctx, s, false, fmt.Sprintf("%s %s?", wordsOf(b.action).title, counted(found.Changed, "execution"))); err != nil {
			return err
		}
	} else if !b.dryRun {
		if err := confirm(ctx, s, b.yes, ""); err != nil {
			return err
		}
	}
	done, err := b.carryOut(ctx, api, request)
	if said := b.tell(s, done); said != nil {
		return said
	}
	switch {
	case err != nil:
		return explain(ctx, url, err)
	case len(done.Failed) > 0:
		return &exit{code: exitNoAnswer}
	default:
		return nil
	}
}

// perCall is how many executions one call steers: few enough that each call is answered soon.
const perCall = 100

// carryOut calls until there are no more. With an error it says what was done before.
func (b *bulkRequest) carryOut(ctx context.Context, api remote, request execution.BulkRequest) (bulkDone, error) {
	done := bulkDone{Action: b.action, DryRun: request.DryRun, Executions: []execution.ID{}}
	for {
		request.Limit = perCall
		if b.limit > 0 {
			request.Limit = min(perCall, b.limit-done.Matched)
		}
		result, err := api.Bulk(ctx, request)
		if err != nil {
			return done, err
		}
		done.Matched += result.Matched
		done.Changed += result.Changed
		done.Executions = append(done.Executions, result.Executions...)
		done.Failed = append(done.Failed, result.Failed...)
		if request.Cursor = result.NextCursor; request.Cursor == "" || b.limit > 0 && done.Matched >= b.limit {
			return done, nil
		}
	}
}

func (b *bulkRequest) tell(s streams, done bulkDone) error {
	if b.json {
		return sayJSON(s.out, done)
	}
	for _, id := range done.Executions {
		if err := say(s.out, string(id)); err != nil {
			return err
		}
	}
	for _, f := range done.Failed {
		if err := say(s.err, fmt.Sprintf("pawl: %s: %s", f.ID, clean(f.Detail))); err != nil {
			return err
		}
	}
	would := ""
	if done.DryRun {
		would = "would be "
	}
	return say(s.err, fmt.Sprintf("%d %s%s; %s.", done.Changed, would, wordsOf(b.action).done, matchText(done.Matched)))
}

func matchText(n int) string {
	if n == 1 {
		return "1 execution passes the filter"
	}
	return fmt.Sprintf("%d executions pass the filter", n)
}

// bulkWords are the forms of an action's name.
type bulkWords struct{ title, done string }

func wordsOf(action execution.BulkAction) bulkWords {
	if action == execution.BulkResume {
		return bulkWords{"Resume", "resumed"}
	}
	return bulkWords{"Cancel", "canceled"}
}
