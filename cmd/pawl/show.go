package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/execution"
)

func newShow(s streams, dial dialer) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show where an execution stands", Args: cobra.ExactArgs(1),
		Long:    "Show where an execution stands, what it has spent, its question or its answer, and the tree of its children.\n\nWith --json one value: its view.",
		Example: asTyped(self(), "  pawl show exec_07…\n  pawl show --json exec_07… | jq -r .outcome.answer"),
		RunE: onExecution(dial, func(ctx context.Context, to target, _ []string) error {
			view, err := to.api.Execution(ctx, to.id)
			if err != nil {
				return to.explain(ctx, err)
			}
			if asJSON {
				return sayJSON(s.out, view)
			}
			if err := tellView(s, view); err != nil {
				return err
			}
			return tellTree(ctx, s, to.api, view)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func tellView(s streams, view execution.View) error {
	t := new(table)
	t.row(string(view.ID), string(view.State))
	t.row("agent", oneLine(view.Agent))
	t.row("conversation", string(view.ConversationID))
	if from := view.ForkedFrom; from != nil {
		t.row("forked from", fmt.Sprintf("%s, step %d", from.ExecutionID, from.Step))
	}
	if parent := view.Parent; parent != nil {
		t.row("child of", fmt.Sprintf("%s, call %s", parent.Execution, parent.Call))
	}
	t.row("step", fmt.Sprintf("%d, at %s", view.Step, view.Node))
	spent := fmt.Sprintf("%s, %d+%d tokens, %s", counted(int(view.Usage.Requests), "request"),
		view.Usage.InputTokens, view.Usage.OutputTokens, counted(int(view.Usage.ToolCalls), "tool call"))
	if view.Usage.CostMicros != 0 {
		spent += fmt.Sprintf(", cost %.6f", float64(view.Usage.CostMicros)/1e6)
	}
	t.row("spent", spent)
	if view.Delegation != nil {
		t.row("delegation", delegationText(*view.Delegation))
	}
	for _, at := range []struct {
		name string
		ms   int64
	}{{"created", view.CreatedAtMs}, {"started", view.StartedAtMs}, {"changed", view.UpdatedAtMs}, {"ended", view.EndedAtMs}} {
		if at.ms != 0 {
			t.row(at.name, instant(at.ms))
		}
	}
	for _, name := range sorted(keys(view.Metadata)) {
		t.row("metadata", oneLine(name+"="+view.Metadata[name]))
	}
	for _, line := range standing(view) {
		t.row(line[0], line[1])
	}
	if err := t.flush(s.out); err != nil {
		return fail("%w", err)
	}
	if view.Outcome != nil {
		return say(s.out, "\n"+clean(view.Outcome.Answer))
	}
	return nil
}

// standing says what stops the execution, or what it asks.
func standing(view execution.View) (lines [][2]string) {
	if view.Wait != nil {
		text := string(view.Wait.Kind)
		if view.Wait.UntilMs != 0 {
			text += " until " + instant(view.Wait.UntilMs)
		}
		lines = append(lines, [2]string{"waits for", text})
	}
	if view.CancelRequested {
		lines = append(lines, [2]string{"requested", "cancel"})
	}
	if view.PauseRequested {
		lines = append(lines, [2]string{"requested", "pause"})
	}
	if view.Suspension != nil {
		lines = append(lines, [2]string{"suspended", suspensionText(*view.Suspension)}, [2]string{"go on with", resumeCommand(view.ID, view.Suspension)})
	}
	if view.Interaction != nil && view.State == execution.WaitingForInput {
		lines = append(lines, [2]string{"asks", oneLine(view.Interaction.Prompt)}, [2]string{"answer with", answerCommand(view.ID, view.Interaction)})
	}
	if view.Failure != nil {
		lines = append(lines, [2]string{"failed", oneLine(view.Failure.Code + ": " + view.Failure.Message)})
	}
	return lines
}

func keys[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	return names
}

func sorted(texts []string) []string {
	slices.Sort(texts)
	return texts
}
