package a2a_test

import (
	"testing"

	sdk "github.com/a2aproject/a2a-go/a2a"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/link/linktest"
)

// A client that comes back finds events that cannot be read on its way: it is told how the task stands, and of what follows.
func TestAStreamGoesOnPastAnEventThatCannotBeRead(t *testing.T) {
	t.Parallel()
	store := memory(t)
	p := serve(t, store, change{})
	task := send(t, p.client("demo"), message("m1", "hello"))
	w := p.worker(task)
	w.Warnings(1)
	store.DamageEvent(execution.ID(task.ID), 2, true)
	store.DamageEvent(execution.ID(task.ID), 3, false)

	g := resubscribe(t, p.client("demo", "Last-Event-ID: 1"), task.ID)
	for n := range 2 {
		require.EqualValues(t, 2+n, g.status(sdk.TaskStateWorking).Metadata["pawl.sequence"])
	}
	w.Complete("One.")
	text, last := g.artifact()
	require.Equal(t, "One.", text)
	require.Equal(t, sdk.TaskStateCompleted, last.(*sdk.TaskStatusUpdateEvent).Status.State)
	g.ends()
}

func TestAStreamTellsOfAQuestionWhoseEventCannotBeRead(t *testing.T) {
	t.Parallel()
	store := memory(t)
	p := serve(t, store, change{})
	task := send(t, p.client("demo"), message("m1", "hello"))
	p.worker(task).Ask(linktest.Elicitation("r1"))
	store.DamageEvent(execution.ID(task.ID), 3, false)
	g := resubscribe(t, p.client("demo", "Last-Event-ID: 2"), task.ID)
	asked := g.status(sdk.TaskStateInputRequired)
	require.True(t, asked.Final)
	require.Equal(t, "Book it?", text(asked.Status.Message))
	g.ends()
}

func TestAStreamTellsOfAnEndWhoseEventCannotBeRead(t *testing.T) {
	t.Parallel()
	store := memory(t)
	p := serve(t, store, change{})
	task := send(t, p.client("demo"), message("m1", "hello"))
	p.worker(task).Complete("One.")
	store.DamageEvent(execution.ID(task.ID), 3, true)
	g := resubscribe(t, p.client("demo", "Last-Event-ID: 2"), task.ID)
	text, last := g.artifact()
	require.Equal(t, "One.", text)
	require.Equal(t, sdk.TaskStateCompleted, last.(*sdk.TaskStatusUpdateEvent).Status.State)
	g.ends()
}
