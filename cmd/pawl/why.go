package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/execution"
)

func newWhy(s streams, dial dialer) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "why ID", Short: "Say what an execution waits for and what happens next", Args: cobra.ExactArgs(1),
		Long: "Say what an execution waits for, since when, and what happens next by itself; who holds it, where its task stands\n" +
			"in its queue and how many live workers serve that, and why the last attempt failed. Where a person is needed, for it\n" +
			"or for a child that it waits for, it prints the command that answers or resumes.\n\n" +
			"With --json one value: {state, waitingFor, sinceAtMs, detail, next?: {atMs, what}, holder?: {workerId, node,\n" +
			"claimExpiresAtMs}, queue?: {name, position, workers}, children?: [{executionId, callId, agent, state}], needs?:\n" +
			"[{executionId, agent, interaction?, suspension?}], lastError?: {code, message, attempt, atMs}}.",
		Example: asTyped(self(), "  pawl why exec_07…"),
		RunE: onExecution(dial, func(ctx context.Context, to target, _ []string) error {
			why, err := to.api.Why(ctx, to.id)
			if err != nil {
				return to.explain(ctx, err)
			}
			if asJSON {
				return sayJSON(s.out, why)
			}
			return tellWhy(s, to.id, why, time.Now())
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func tellWhy(s streams, id execution.ID, why execution.Why, now time.Time) error {
	t := new(table)
	t.row(string(id), string(why.State)+", waits for "+string(why.WaitingFor))
	if why.WaitingFor == execution.WaitsForNothing {
		t.rows[0][1] = string(why.State)
	}
	if why.Detail != "" {
		t.row("why", oneLine(why.Detail))
	}
	for _, need := range why.Needs {
		for _, row := range needRows(id, need) {
			t.row(row...)
		}
	}
	if why.SinceAtMs != 0 {
		t.row("since", fmt.Sprintf("%s (%s)", instant(why.SinceAtMs), away(now, why.SinceAtMs)))
	}
	switch {
	case why.Next != nil:
		t.row("next", fmt.Sprintf("%s (%s): %s", instant(why.Next.AtMs), away(now, why.Next.AtMs), oneLine(why.Next.What)))
	case !why.State.Terminal():
		t.row("next", "nothing happens by itself")
	}
	if h := why.Holder; h != nil {
		t.row("holder", fmt.Sprintf("%s, node %s; its claim runs out %s", oneLine(h.WorkerID), h.Node, away(now, h.ClaimExpiresAtMs)))
	}
	if q := why.Queue; q != nil {
		t.row("queue", oneLine(q.Name)+queueText(*q))
	}
	if e := why.LastError; e != nil {
		t.row("error", fmt.Sprintf("attempt %d, %s: %s", e.Attempt, instant(e.AtMs), oneLine(e.Code+" "+e.Message)))
	}
	if err := t.flush(s.out); err != nil {
		return fail("%w", err)
	}
	return nil
}

// needRows say what a person has to do, and the command that does it: for the execution itself, or for one below it.
func needRows(id execution.ID, need execution.WhyNeed) (rows [][]string) {
	if need.Execution != id {
		rows = append(rows, []string{"child", fmt.Sprintf("%s (%s)", need.Execution, oneLine(need.Agent))})
	}
	switch {
	case need.Interaction != nil:
		rows = append(rows, []string{"asks", oneLine(need.Interaction.Prompt)})
		for _, call := range callsOf(need.Execution, need.Interaction) {
			rows = append(rows, []string{"about", call})
		}
		rows = append(rows, []string{"answer with", answerCommand(need.Execution, need.Interaction)})
	case need.Suspension != nil:
		rows = append(rows, []string{"suspended", suspensionText(*need.Suspension)}, []string{"go on with", resumeCommand(need.Execution, need.Suspension)})
	}
	return rows
}

// suspensionText is the reason, and what else is known.
func suspensionText(s execution.Suspension) string {
	return strings.TrimSuffix(string(s.Reason)+": "+oneLine(s.Detail), ": ")
}

// resumeCommand is what a person types to resume what is suspended for this: with more of a limit that is the reason.
func resumeCommand(id execution.ID, s *execution.Suspension) string {
	command := fmt.Sprintf("%s resume %s", self(), id)
	if s == nil || s.Reason != execution.ReasonLimit {
		return command
	}
	limit, _, _ := strings.Cut(s.Detail, " ")
	if limit = strings.TrimSuffix(limit, ":"); setLimit(new(execution.Limits), limit, "1") != nil {
		return command
	}
	return fmt.Sprintf("%s --limits %s=MORE", command, limit) // without more it would stop at the same place
}

func queueText(q execution.WhyQueue) string {
	text := ""
	if q.Position >= 0 {
		text = fmt.Sprintf(", %s before it", counted(int(q.Position), "task"))
	}
	if q.Workers == 0 {
		return text + ", no live worker serves it"
	}
	return text + ", " + counted(q.Workers, "live worker")
}
