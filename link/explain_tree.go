package link

import (
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// named is how many children a sentence names.
const named = 5

// children: durable delegates work, and their results let the execution go on.
func (f *facts) children(why *execution.Why) {
	why.WaitingFor, why.Detail = execution.WaitsForChild, "Delegates are running: their results let it go on."
	if f.family == nil {
		return
	}
	why.Children = f.family.open
	if len(f.family.open) == 0 {
		why.Detail = "Its delegates have ended: it is about to go on."
		return
	}
	var names []string
	for _, child := range f.family.open[:min(named, len(f.family.open))] {
		names = append(names, fmt.Sprintf("%s (%s)", child.ID, child.Agent))
	}
	if more := len(f.family.open) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	why.Detail = fmt.Sprintf("%d of its %d children have not ended, and their results let it go on: %s.", len(f.family.open),
		f.family.all, strings.Join(names, ", "))
	if f.family.all == 1 {
		why.Detail = fmt.Sprintf("Its child has not ended, and its result lets it go on: %s.", names[0])
	}
	switch {
	case len(f.family.needs) > 0:
		why.Needs = f.family.needs
		why.Detail = sentences(why.Detail, needed(f.family.needs))
	case f.family.first != nil:
		first := f.family.first.explain()
		why.Detail = sentences(why.Detail, "Of the first: "+first.Detail)
	}
}

// needed says who waits for people, and for what.
func needed(needs []execution.WhyNeed) string {
	texts := make([]string, len(needs))
	for i, need := range needs {
		texts[i] = fmt.Sprintf("%s (%s) is suspended", need.Execution, need.Agent)
		switch {
		case need.Interaction != nil:
			texts[i] = fmt.Sprintf("%s (%s) asks %q", need.Execution, need.Agent, shortened(need.Interaction.Prompt))
		case need.Suspension != nil:
			texts[i] = fmt.Sprintf("%s (%s) is suspended, %s", need.Execution, need.Agent, need.Suspension.Reason)
		}
	}
	return "A person is needed: " + strings.Join(texts, "; ")
}

// shortened is the beginning of what somebody asks.
func shortened(text string) string {
	const longest = 200
	if runes := []rune(text); len(runes) > longest {
		return string(runes[:longest]) + "…"
	}
	return text
}

// left: the execution is a child whose parent ended while nobody held it.
func (f *facts) left(why *execution.Why) {
	why.WaitingFor = execution.WaitsForCancel
	why.Detail = "Its parent has ended, so it is canceled: the reaper ends it."
	why.Next = &execution.WhyNext{AtMs: f.LookAtMs, What: "the reaper ends it"}
}

// unclean says what is still to be undone after an execution that has ended, or is about to.
func (f *facts) unclean(why *execution.Why) {
	row := &f.Execution
	if !row.CleanupOpen() {
		return
	}
	why.Detail = sentences(why.Detail, "Its clean-up is open: "+toUndo(row))
	if !row.State.Terminal() {
		return
	}
	why.WaitingFor = execution.WaitsForCleanup
	if f.CleanupAtMs > 0 {
		why.Next = &execution.WhyNext{AtMs: f.CleanupAtMs, What: "the reaper tries again to clean up"}
	}
}

func toUndo(row *journal.Execution) string {
	var all []string
	if d := row.Delegation; d != nil && !d.CleanupComplete {
		all = append(all, "its delegation is to be revoked")
	}
	if len(row.Cleanup) > 0 {
		all = append(all, "what it began outside, such as the task of a remote agent, is to be undone")
	}
	return strings.Join(all, ", and ")
}
