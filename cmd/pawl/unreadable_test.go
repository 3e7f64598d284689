package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

// Behind an event that cannot be read may be a question, a suspension or the end: the view says so.
func TestWatch_GoesOnPastAnEventThatCannotBeRead(t *testing.T) {
	t.Parallel()
	fake := newFake(execution.View{State: execution.Completed, Outcome: &execution.Outcome{Answer: "Booked."}})
	fake.items <- received{item: execution.StreamItem{Event: &execution.Event{Sequence: 1, Payload: &execution.UnreadableEvent{}}}}
	fake.send(&execution.ExecutionStarted{}, &execution.UnreadableEvent{})
	fake.end()
	got := typeCommand(t, fake, true, strings.NewReader(""), "watch", string(anID))
	require.Zero(t, got.code)
	require.Contains(t, got.out, `
           unreadable            it is damaged, or of another release
   0.000s  execution_started
   0.100s  unreadable            it is damaged, or of another release

Booked.
`)
}

func TestWatch_SeesBehindAnEventThatCannotBeRead(t *testing.T) {
	t.Parallel()
	fake := newFake(execution.View{State: execution.Suspended})
	fake.send(&execution.UnreadableEvent{})
	got := typeCommand(t, fake, false, nil, "watch", string(anID))
	require.Equal(t, exitSuspended, got.code)
	require.Contains(t, got.out, ": pawl resume "+string(anID)+"\n")

	fake = newFake(question(execution.Elicitation))
	fake.send(&execution.UnreadableEvent{})
	fake.end()
	got = typeCommand(t, fake, false, nil, "watch", string(anID))
	require.Contains(t, got.out, "Waiting for a person. Answer with: pawl input "+string(anID))
}
