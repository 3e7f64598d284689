package a2a_test

import (
	"fmt"
	"testing"

	sdk "github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2aclient"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

// inContext makes a message one of a context.
func inContext(id string, m *sdk.Message) *sdk.Message {
	m.ContextID = id
	return m
}

// answers plays a worker that answers a task.
func (p *peer) answers(task *sdk.Task, answer string) {
	p.t.Helper()
	w := p.worker(task)
	w.Say(fmt.Sprintf(`{"role":"assistant","text":%q}`, answer))
	w.Complete(answer)
}

// remembered is what a task's history says, by whom.
func remembered(t testing.TB, c *a2aclient.Client, task *sdk.Task) []string {
	t.Helper()
	var all []string
	for _, m := range get(t, c, task).History {
		require.Equal(t, task.ContextID, m.ContextID)
		all = append(all, string(m.Role)+": "+text(m))
	}
	return all
}

// A context is its tenant's: whoever of the tenant may submit and knows the id goes on in it, and is told what was said in it.
func TestAContextIsATenantsOwn(t *testing.T) {
	t.Parallel()
	p := serve(t, memory(t), change{http: byName})
	as := func(agent, who string) *a2aclient.Client { return p.client(agent, "Authorization: Bearer "+who) }
	ann, bob, rita := as("demo", "one/ann/submit"), as("demo", "one/bob/submit"), as("demo", "one/rita/read")
	const chosen = "trip-7"
	first := send(t, ann, inContext(chosen, message("m1", "my name is Ann")))
	require.Equal(t, chosen, first.ContextID)
	_, err := trySend(t, bob, inContext(chosen, message("m2", "who am I?")))
	require.ErrorIs(t, err, sdk.ErrUnsupportedOperation, "one task at a time")
	p.answers(first, "hello Ann")

	second := send(t, bob, inContext(chosen, message("m2", "who am I?")))
	want := []string{"user: my name is Ann", "agent: hello Ann", "user: who am I?"}
	require.Equal(t, want, remembered(t, bob, second), "another one of the tenant goes on in it")
	require.Equal(t, want, remembered(t, rita, second))
	_, err = ann.GetTask(bounded(t), &sdk.TaskQueryParams{ID: second.ID})
	require.ErrorContains(t, err, "403 Forbidden", "a task is seen by its own caller, and by keys of read and operate")
	p.answers(second, "Ann")

	other := as("priced", "one/ann/submit")
	third := send(t, other, inContext(chosen, message("m3", "and you?")))
	require.Equal(t, append(want, "agent: Ann", "user: and you?"), remembered(t, other, third), "and another agent too")

	stranger := as("demo", "two/ann/operate")
	theirs := send(t, stranger, inContext(chosen, message("m1", "anybody here?")))
	require.Equal(t, []string{"user: anybody here?"}, remembered(t, stranger, theirs), "another tenant's id is another context")
}

// Ids that Pawl has made lead to the tenant's own contexts alone. Another tenant's is refused as one is that never was.
func TestAMadeContextIDOfAnotherTenantIsNone(t *testing.T) {
	t.Parallel()
	p := serve(t, memory(t), change{http: byName})
	ann, stranger := p.client("demo", "Authorization: Bearer one/ann/submit"), p.client("demo", "Authorization: Bearer two/ann/operate")
	task := send(t, ann, message("m1", "hello"))
	p.worker(task).Complete("hi")
	require.Equal(t, task.ContextID, send(t, ann, inContext(task.ContextID, message("m2", "again"))).ContextID)
	_, theirs := trySend(t, stranger, inContext(task.ContextID, message("m1", "hello")))
	require.ErrorIs(t, theirs, sdk.ErrInvalidParams)
	require.ErrorContains(t, theirs, "message.contextId")
	_, nobodys := trySend(t, stranger, inContext(string(execution.NewConversationID(execution.ID(task.ID).Partition())), message("m2", "hello")))
	require.Equal(t, nobodys.Error(), theirs.Error())
}
