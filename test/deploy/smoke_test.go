package deploy

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/execution"
)

// smokeTimeout bounds the smoke test.
const smokeTimeout = 90 * time.Second

// agents of the smoke test: one answers after a call and a question.
const agents = `agents:
  demo:
    model:
      provider: scripted
      turns:
        - toolCalls: [{name: confirm, arguments: {question: "Book it?"}}]
        - {delay: 50ms, text: "Booked."}
    tools: [{name: confirm, type: human}]
`

// deployment is what the smoke test needs to know of what runs.
type deployment struct {
	apis       [2]string                  // host and port of each replica
	key        func(tenant string) string // makes an API key as the head of compose.yaml says
	killWorker func()                     // ends a worker that is at work with SIGKILL
}

// smoke submits through one API, watches through the other, answers, kills a worker that is at work, and lets another tenant
// see nothing. It gives the executions, which have completed.
func smoke(t *testing.T, d deployment) []execution.ID {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), smokeTimeout)
	defer cancel()
	key := d.key("acme")
	first, second := dial(t, d.apis[0], key), dial(t, d.apis[1], key)
	var ids []execution.ID
	for i := range 30 {
		created, err := first.Create(ctx, fmt.Sprintf("smoke-%d", i), execution.CreateRequest{
			Agent: "demo", Input: execution.Input{Type: execution.UserMessage, Text: "Oslo"},
		})
		require.NoError(t, err)
		ids = append(ids, created.View.ID)
		if i == 10 {
			d.killWorker()
		}
	}
	for i, id := range ids {
		view := until(ctx, t, second, id, func(view execution.View) bool { return view.Interaction != nil })
		_, err := second.SubmitInput(ctx, id, execution.SubmitInput{
			OperationID: execution.OperationID(fmt.Sprintf("answer-%d", i)),
			Input: execution.Input{
				Type: execution.ElicitationResponse, RequestID: view.Interaction.RequestID, Text: "yes",
			},
		})
		require.NoError(t, err)
	}
	for _, id := range ids {
		view := until(ctx, t, first, id, func(view execution.View) bool { return view.State.Terminal() })
		require.Equal(t, execution.Completed, view.State)
	}
	_, err := dial(t, d.apis[0], d.key("other")).Execution(ctx, ids[0])
	require.ErrorIs(t, err, execution.ErrNotFound)
	_, err = dial(t, d.apis[0], "").Execution(ctx, ids[0])
	require.ErrorIs(t, err, execution.ErrUnauthenticated)
	return ids
}

func dial(t *testing.T, addr, key string) *client.Client {
	t.Helper()
	c, err := client.New("http://"+addr, client.Config{APIKey: key})
	require.NoError(t, err)
	return c
}

// until waits for a view that is as it should be.
func until(
	ctx context.Context, t *testing.T, c *client.Client, id execution.ID, done func(execution.View) bool,
) execution.View {
	t.Helper()
	view, err := c.Execution(ctx, id)
	for err == nil && !done(view) {
		view, err = c.Wait(ctx, id, view.Version, 10*time.Second)
	}
	require.NoError(t, err, "%s: %+v", id, view)
	return view
}
