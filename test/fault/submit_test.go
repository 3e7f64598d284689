//go:build faultpoint

package fault

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

const talker = `
agents:
  talker:
    model: {provider: scripted, turns: [{text: "Hello."}]}
`

func TestFiftyConcurrentSubmissionsWithOneKeyAreOneExecution(t *testing.T) {
	t.Parallel()
	stack := harness.New(t, harness.Config{
		Agents: talker, Redis: []string{"--appendonly", "yes", "--appendfsync", "always"},
	})
	apis := []*harness.API{stack.API(), stack.API()}
	body := harness.Submission("talker", "once")
	id := submitConcurrently(t, apis, 50, body)
	require.Len(t, rowKeys(stack), 1)

	t.Run("another body is refused", func(t *testing.T) {
		answer, err := apis[0].TrySubmit(context.Background(), "order-7", harness.Submission("talker", "twice"))
		require.NoError(t, err)
		require.Equal(t, http.StatusConflict, answer.Status)
		code, _ := answer.Problem()
		require.Equal(t, "idempotency_key_reused", code)
	})
	t.Run("a Redis that was killed and restarted still knows it", func(t *testing.T) {
		stack := stack.For(t)
		stack.RestartRedis()
		var answer harness.Answer
		harness.Eventually(t, endTimeout, "the API finds Redis again", func() bool {
			var err error
			answer, err = apis[1].TrySubmit(context.Background(), "order-7", body)
			require.NoError(t, err)
			return answer.Status < http.StatusInternalServerError
		})
		require.Equal(t, http.StatusOK, answer.Status, "%s", answer.Body)
		view, err := answer.View()
		require.NoError(t, err)
		require.Equal(t, id, view.ID)
		require.Len(t, rowKeys(stack), 1)
	})
	t.Run("and it runs", func(t *testing.T) {
		stack, api := stack.For(t), apis[0].For(t)
		stack.Reaper()
		stack.Worker()
		api.AwaitState(id, endTimeout, execution.Completed)
		harness.CheckLog(t, id, api.Events(id))
	})
}

// submitConcurrently submits the same body with the same key n times at once: one 202, else replays of it.
func submitConcurrently(t *testing.T, apis []*harness.API, n int, body any) execution.ID {
	t.Helper()
	answers, failures := make([]harness.Answer, n), make([]error, n)
	start := make(chan struct{})
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			<-start
			answers[i], failures[i] = apis[i%len(apis)].TrySubmit(context.Background(), "order-7", body)
		})
	}
	close(start)
	group.Wait()
	created := 0
	var ids []execution.ID
	for i, answer := range answers {
		require.NoError(t, failures[i])
		switch answer.Status {
		case http.StatusAccepted:
			created++
		case http.StatusOK:
			require.Equal(t, "true", answer.Header.Get("Idempotency-Replayed"))
		default:
			require.Failf(t, "unexpected answer", "%d %s", answer.Status, answer.Body)
		}
		view, err := answer.View()
		require.NoError(t, err)
		ids = append(ids, view.ID)
	}
	require.Equal(t, 1, created, "exactly one submission creates")
	require.Len(t, slices.Compact(ids), 1, "every answer names the same execution")
	t.Logf("%d concurrent submissions to %d API processes: %d created, %d replayed", n, len(apis), created, n-created)
	return ids[0]
}

// rowKeys lists the rows of executions.
func rowKeys(stack *harness.Stack) []string {
	return slices.DeleteFunc(stack.Keys("pawl:*:x:*"), func(key string) bool {
		_, rest, _ := strings.Cut(key, ":x:")
		return strings.Contains(rest, ":")
	})
}
