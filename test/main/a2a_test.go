package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2aclient"
	"github.com/a2aproject/a2a-go/a2aclient/agentcard"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/test/harness"
)

const shown = `
agents:
  trips:
    model:
      provider: scripted
      turns:
        - toolCalls: [{name: lookup, arguments: {city: Oslo}}]
        - toolCalls: [{name: confirm, arguments: {question: "Book it?"}}]
        - {text: "Booked."}
    tools:
      - {name: lookup, type: http, url: "$TOOLS/lookup", recovery: idempotent}
      - {name: confirm, type: human}
    publish: {}
`

// toldTimeout is how long an address may wait: another process goes on 30 s after the one that told has died.
const toldTimeout = 3 * time.Minute

// atCard is a client of the agent whose card is at the root of an API.
func atCard(t *testing.T, api *harness.API, last string) *a2aclient.Client {
	t.Helper()
	card, err := agentcard.DefaultResolver.Resolve(t.Context(), api.URL)
	require.NoError(t, err)
	client, err := a2aclient.NewFromCard(t.Context(), card,
		a2aclient.WithJSONRPCTransport(&http.Client{}), a2aclient.WithInterceptors(resuming{last: last}))
	require.NoError(t, err)
	return client
}

// resuming says which event a client had last.
type resuming struct {
	a2aclient.PassthroughInterceptor
	last string
}

func (r resuming) Before(ctx context.Context, req *a2aclient.Request) (context.Context, error) {
	if r.last != "" {
		req.Meta["Last-Event-ID"] = []string{r.last}
	}
	return ctx, nil
}

// listener hears what is told of tasks.
type listener struct {
	*httptest.Server
	mu     sync.Mutex
	states []sdk.TaskState
}

func listen(t *testing.T) *listener {
	t.Helper()
	l := &listener{}
	l.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var task sdk.Task
		if json.NewDecoder(r.Body).Decode(&task) == nil {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.states = append(l.states, task.Status.State)
		}
	}))
	t.Cleanup(l.Close)
	return l
}

func (l *listener) hears(t *testing.T, want sdk.TaskState) {
	t.Helper()
	harness.Eventually(t, toldTimeout, "somebody is told "+string(want), func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.states) > 0 && l.states[len(l.states)-1] == want
	})
}

func TestAKilledAPILosesNothingOfATask(t *testing.T) {
	t.Parallel()
	tools, entered, leave := harness.Tools(t), make(chan struct{}, 10), make(chan struct{})
	tools.Behave("/lookup", func(ctx context.Context, _ harness.ToolCall) (int, string) {
		entered <- struct{}{}
		select {
		case <-leave:
		case <-ctx.Done():
		}
		return http.StatusOK, `{"trains": 2}`
	})
	stack := shipped(t, strings.ReplaceAll(shown, "$TOOLS", tools.URL))
	on := map[string]string{"PAWL_A2A": "1"}
	first, second := stack.API(on), stack.API(on)
	stack.Worker()
	stack.Reaper()
	hears := listen(t)

	ctx, cancel := context.WithTimeout(t.Context(), toldTimeout)
	defer cancel()
	var task sdk.TaskInfo
	last, ended := "", false
	for event, err := range atCard(t, first, "").SendStreamingMessage(ctx, &sdk.MessageSendParams{
		Message: said("m1", "", "Oslo, please"), Config: &sdk.MessageSendConfig{PushConfig: &sdk.PushConfig{URL: hears.URL}},
	}) {
		if err != nil {
			break
		}
		task, last = event.TaskInfo(), fmt.Sprintf("%.0f", event.Meta()["pawl.sequence"])
		if status, is := event.(*sdk.TaskStatusUpdateEvent); is && status.Status.State == sdk.TaskStateWorking {
			select {
			case <-entered:
			case <-ctx.Done():
				require.Fail(t, "the tool is not called")
			}
			first.Kill()
		}
		ended = ended || isFinal(event)
	}
	require.NotEmpty(t, task.TaskID)
	require.False(t, ended, "the stream was cut")
	close(leave)

	var states []sdk.TaskState
	for event, err := range atCard(t, second, last).ResubscribeToTask(ctx, &sdk.TaskIDParams{ID: task.TaskID}) {
		require.NoError(t, err)
		states = append(states, event.(*sdk.TaskStatusUpdateEvent).Status.State)
	}
	require.Equal(t, []sdk.TaskState{sdk.TaskStateInputRequired}, states)
	hears.hears(t, sdk.TaskStateInputRequired)

	result, err := atCard(t, second, "").SendMessage(ctx, &sdk.MessageSendParams{Message: said("m2", task.TaskID, "yes")})
	require.NoError(t, err)
	done := result.(*sdk.Task)
	require.Equal(t, sdk.TaskStateCompleted, done.Status.State)
	require.Equal(t, sdk.TextPart{Text: "Booked."}, done.Artifacts[0].Parts[0])
	hears.hears(t, sdk.TaskStateCompleted)
}

func said(id string, task sdk.TaskID, text string) *sdk.Message {
	return &sdk.Message{ID: id, TaskID: task, Role: sdk.MessageRoleUser, Parts: sdk.ContentParts{sdk.TextPart{Text: text}}}
}

func isFinal(event sdk.Event) bool {
	status, is := event.(*sdk.TaskStatusUpdateEvent)
	return is && status.Final
}
