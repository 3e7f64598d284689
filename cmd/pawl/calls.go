package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/execution"
)

func newCalls(s streams, dial dialer) *cobra.Command {
	var after, limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use: "calls ID", Short: "List the tool calls of an execution", Args: cobra.ExactArgs(1),
		Long: "List the tool calls of an execution as its ledger has them, in the order in which they were planned.\n\n" +
			"STATE is how far a call has come: planned, started (it is about to be sent, or was; only calls that must not be\n" +
			"sent twice are marked so, others are sent while they are planned), done, failed, or outcome unknown when the open\n" +
			"question asks what has become of it.\n" +
			"RECOVERY is what happens to a call that is not done when its worker is gone: read_only and idempotent calls are\n" +
			"sent again, of reconcile ones the tool is asked, and unsafe ones that were started are not sent again by\n" +
			"themselves; - is not known. EFFECT is the id under which the tool sees the call. TOOK is from its plan to its\n" +
			"receipt, with the time that it waited for people and workers.\n\n" +
			"With --json each is a line of JSON, whole: {callId, name, effectId, state, recovery?, arguments?, result?, …}.",
		Example: asTyped(self(), "  pawl calls exec_07…\n  pawl calls --json exec_07… | jq 'select(.state != \"done\")'"),
		RunE: onExecution(dial, func(ctx context.Context, to target, _ []string) error {
			if err := checkAfter(after, limit); err != nil {
				return err
			}
			next, t := execution.Sequence(after), new(table) //nolint:gosec // it is not negative
			if !asJSON {
				t.row("CALL", "TOOL", "STATE", "RECOVERY", "EFFECT", "PLANNED", "TOOK")
			}
			return turn(limit, func(size int) (int, bool, error) {
				page, err := to.api.ToolCalls(ctx, to.id, next, size)
				if err != nil {
					return 0, false, to.explain(ctx, err)
				}
				next = page.NextAfter
				if err := tellUnreadable(s, page.Unreadable); err != nil {
					return 0, false, err
				}
				return len(page.ToolCalls), page.HasMore, tellCalls(s, t, page.ToolCalls, asJSON)
			})
		}),
	}
	cmd.Flags().IntVar(&after, "after", 0, "a sequence: only calls that were planned behind that event")
	cmd.Flags().IntVar(&limit, "limit", 0, "how many at most (default all)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: one call per line")
	return cmd
}

func checkAfter(after, limit int) error {
	if after < 0 {
		return wrongUsage("--after: want a number, 0 or above, have %d", after)
	}
	return checkPage(0, limit)
}

// tellUnreadable names, beside the list, the events that may be of calls which are not in it.
func tellUnreadable(s streams, events []execution.Sequence) error {
	for _, n := range events {
		if err := say(s.err, fmt.Sprintf("Event %d cannot be read: a call of it is not listed.", n)); err != nil {
			return err
		}
	}
	return nil
}

func tellCalls(s streams, t *table, calls []execution.LedgerEntry, asJSON bool) error {
	for i := range calls {
		call := &calls[i]
		if asJSON {
			if err := sayJSON(s.out, call); err != nil {
				return err
			}
			continue
		}
		recovery, took := oneLine(string(call.Recovery)), ""
		if recovery == "" {
			recovery = "-"
		}
		if call.DoneAtMs > 0 {
			took = (time.Duration(call.DoneAtMs-call.PlannedAtMs) * time.Millisecond).String()
		}
		t.row(oneLine(string(call.CallID)), oneLine(call.Name), callState(call), recovery, oneLine(call.EffectID),
			instant(call.PlannedAtMs), took)
	}
	if err := t.flush(s.out); err != nil {
		return fail("%w", err)
	}
	return nil
}

// callState is how far a call has come, in words.
func callState(call *execution.LedgerEntry) string {
	switch {
	case call.OutcomeUnknown:
		return "outcome unknown"
	case call.Failed:
		return "failed"
	default:
		return oneLine(string(call.State))
	}
}
