package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/pawl-run/pawl/execution"
)

// How often a watch asks what the children of its execution wait for: soon when that has changed, less and less often while it
// has not.
const (
	childrenSoonest = 15 * time.Second
	childrenLatest  = time.Minute
)

// childrenWatch is what a watch has said of the children that its execution waits for.
type childrenWatch struct {
	said string
	next time.Time // no question before
	pace time.Duration
}

// children says for which children the execution waits, and what these wait for, when that is not what was said last.
func (w *watcher) children(ctx context.Context, view execution.View) {
	waits := view.State == execution.Running && view.Wait != nil && view.Wait.Kind == execution.WaitChild
	now := time.Now()
	if !waits || w.render.json || w.pending != nil || now.Before(w.family.next) {
		return
	}
	w.family.pace = min(max(2*w.family.pace, childrenSoonest), childrenLatest)
	w.family.next = now.Add(w.family.pace)
	why, err := w.api.Why(ctx, w.id)
	if err != nil || len(why.Children) == 0 { // an API of an earlier release, or they have just ended
		return
	}
	said := standingOf(why)
	if said == w.family.said {
		return
	}
	w.family = childrenWatch{said: said, pace: childrenSoonest, next: now.Add(childrenSoonest)}
	w.render.note("%s", oneLine(why.Detail))
	for _, need := range why.Needs {
		w.need(need)
	}
}

// need says what a person has to do, and the command that does it.
func (w *watcher) need(need execution.WhyNeed) {
	switch {
	case need.Interaction != nil:
		w.render.note("%s (%s) asks: %s", need.Execution, oneLine(need.Agent), oneLine(need.Interaction.Prompt))
		for _, line := range callsOf(need.Execution, need.Interaction) {
			w.render.note("%s", line)
		}
		w.render.note("%s. Answer with: %s", waitingFor(need.Interaction), answerCommand(need.Execution, need.Interaction))
	case need.Suspension != nil:
		w.render.note("%s (%s) is suspended, %s. When what stopped it is mended: %s", need.Execution, oneLine(need.Agent),
			suspensionText(*need.Suspension), resumeCommand(need.Execution, need.Suspension))
	}
}

// standingOf is what has to change for something to be said again: who is there, in which state, and what people have to do.
// What a child does that works is not among it.
func standingOf(why execution.Why) string {
	var text strings.Builder
	for _, child := range why.Children {
		fmt.Fprintf(&text, "%s %s\n", child.ID, child.State)
	}
	for _, need := range why.Needs {
		text.WriteString(string(need.Execution))
		if need.Interaction != nil {
			text.WriteString(" " + string(need.Interaction.RequestID))
		}
		if need.Suspension != nil {
			text.WriteString(" " + string(need.Suspension.Reason) + " " + need.Suspension.Detail)
		}
		text.WriteString("\n")
	}
	return text.String()
}
