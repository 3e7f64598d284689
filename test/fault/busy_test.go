//go:build faultpoint

package fault

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

const chatters = `
agents:
  talker:
    model:
      provider: scripted
      turns:
        - {delay: 20ms, toolCalls: [{name: lookup, arguments: {city: Oslo}}, {name: pay, arguments: {amount: 7}}]}
        - {delay: 20ms, text: "Done."}
    tools:
      - {name: lookup, type: http, url: "$TOOLS/lookup", recovery: idempotent}
      - {name: pay, type: http, url: "$TOOLS/pay", recovery: unsafe, onUnknown: tell_model}
`

const (
	submissions = 200
	spread      = 3 * time.Second // over which they come
)

// busy is one conversation into which many submit at the same time, while workers are killed.
type busy struct {
	t     *testing.T
	stack *harness.Stack
	api   *harness.API
	tools *harness.ToolServer

	over   chan struct{}
	killer sync.WaitGroup

	mu       sync.Mutex
	accepted map[string]execution.View // by what was said
	refused  map[string]int            // by code
}

// TestTwoHundredSubmitIntoOneConversation holds each way of taking turns against what the API says of it: never are two
// executions active at once, whoever dies, and the history is always one that a model can be sent.
func TestTwoHundredSubmitIntoOneConversation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		onBusy execution.OnBusy
		check  func(*busy)
	}{
		{execution.BusyReject, (*busy).checkReject},
		{execution.BusyEnqueue, (*busy).checkEnqueue},
		{execution.BusyInterrupt, (*busy).checkInterrupt},
		{execution.BusyRollback, (*busy).checkRollback},
	} {
		t.Run(string(c.onBusy), func(t *testing.T) {
			t.Parallel()
			b := newBusy(t)
			defer b.stop()
			b.say("first of all", execution.BusyReject)
			b.await()
			b.crowd(c.onBusy)
			b.await()
			b.checkTurns()
			c.check(b)
			b.checkReplays(c.onBusy)
		})
	}
}

func newBusy(t *testing.T) *busy {
	t.Helper()
	tools := harness.Tools(t)
	tools.Behave("/lookup", harness.After(20*time.Millisecond))
	stack := harness.New(t, harness.Config{
		Agents: agentsFor(tools, chatters), Env: map[string]string{"PAWL_MAX_RECLAIMS": "1000"},
	})
	b := &busy{
		t: t, stack: stack, api: stack.API(), tools: tools, over: make(chan struct{}),
		accepted: map[string]execution.View{}, refused: map[string]int{},
	}
	stack.Reaper()
	workers := []*harness.Process{stack.Worker(), stack.Worker()}
	b.killer.Go(func() { b.kill(workers) })
	return b
}

// stop ends the killing, before the processes are ended.
func (b *busy) stop() {
	close(b.over)
	b.killer.Wait()
}

// kill kills a worker now and then, and starts another one in its place.
func (b *busy) kill(workers []*harness.Process) {
	for {
		select {
		case <-b.over:
			return
		case <-time.After(300*time.Millisecond + rand.N(900*time.Millisecond)):
		}
		i := rand.IntN(len(workers))
		workers[i].Kill()
		workers[i] = b.stack.Worker()
	}
}

func key(text string) string { return "key of " + text }

func (b *busy) request(text string, onBusy execution.OnBusy) execution.CreateRequest {
	request := harness.Submission("talker", text)
	request.ConversationID, request.OnBusy = "the-talk", onBusy
	return request
}

func (b *busy) say(text string, onBusy execution.OnBusy) {
	answer, err := b.api.TrySubmit(context.Background(), key(text), b.request(text, onBusy))
	if err != nil {
		b.t.Errorf("submit %q: %v", text, err)
		return
	}
	view, err := answer.View()
	b.mu.Lock()
	defer b.mu.Unlock()
	if answer.Status == http.StatusAccepted && err == nil {
		b.accepted[text] = view
		return
	}
	code, _ := answer.Problem()
	if answer.Status == http.StatusTooManyRequests && answer.Header.Get("Retry-After") == "" {
		b.t.Errorf("%s without Retry-After", code)
	}
	b.refused[fmt.Sprintf("%d %s", answer.Status, code)]++
}

// crowd submits all of them, each at its own moment.
func (b *busy) crowd(onBusy execution.OnBusy) {
	var all sync.WaitGroup
	for n := range submissions {
		all.Go(func() {
			<-time.After(rand.N(spread))
			b.say(fmt.Sprintf("message %d", n), onBusy)
		})
	}
	all.Wait()
	b.t.Logf("%s: %d accepted, refused %v", onBusy, len(b.accepted)-1, b.refused)
}

// await waits until all that were accepted have ended, and takes what became of them.
func (b *busy) await() {
	b.t.Helper()
	for text, view := range b.accepted {
		if view.State.Terminal() {
			continue
		}
		b.accepted[text] = b.api.AwaitState(view.ID, 4*time.Minute, execution.Completed, execution.Canceled)
	}
}

// turn is when an execution was active: from when it could start, or a little later, to its end.
type turn struct {
	text       string
	from, till int64
}

// checkTurns holds every log whole, and that no two executions were under way at one moment.
func (b *busy) checkTurns() {
	b.t.Helper()
	var turns []turn
	for text, view := range b.accepted {
		events := b.api.Events(view.ID)
		harness.CheckLog(b.t, view.ID, events)
		last := turn{text: text, from: -1, till: events[len(events)-1].OccurredAtMs}
		for _, event := range events {
			if event.Payload.EventType() == execution.TypeExecutionStarted {
				last.from = event.OccurredAtMs
			}
		}
		if last.from >= 0 {
			turns = append(turns, last)
		}
	}
	slices.SortFunc(turns, func(a, b turn) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.till, b.till)) })
	for i := 1; i < len(turns); i++ {
		require.LessOrEqual(b.t, turns[i-1].till, turns[i].from, "%q and %q were active at once", turns[i-1].text, turns[i].text)
	}
	harness.CheckOnce(b.t, b.tools, "/pay")
	require.NotEmpty(b.t, turns)
}

// in lists what was said by those in a state, in the order of their acceptance.
func (b *busy) in(states ...execution.State) []string {
	var texts []string
	for text, view := range b.accepted {
		if slices.Contains(states, view.State) {
			texts = append(texts, text)
		}
	}
	slices.SortFunc(texts, func(x, y string) int {
		return cmp.Compare(b.accepted[x].CreatedAtMs, b.accepted[y].CreatedAtMs)
	})
	return texts
}

// history is what users said, as the last one's model saw it. It fails the test unless every tool call is answered right
// behind the message that asked for it, and nothing else is. An execution that is ended before it begins with the calls
// leaves all of them unanswered.
func (b *busy) history() (said []string) {
	b.t.Helper()
	texts := b.in(execution.Completed, execution.Canceled)
	var messages []execution.HistoryMessage
	for _, text := range slices.Backward(texts) { // who was canceled before its turn has no history
		if messages = b.messages(b.accepted[text].ID); len(messages) > 0 && b.accepted[text].State == execution.Completed {
			break
		}
	}
	var asked, open []execution.CallID
	for _, message := range messages {
		if len(open) > 0 && message.Role != execution.RoleTool {
			require.Equal(b.t, execution.RoleUser, message.Role, "message %d", message.Index)
			require.Equal(b.t, asked, open, "message %d: not all are answered", message.Index)
			open = nil
		}
		switch message.Role {
		case execution.RoleUser:
			said = append(said, message.Text)
		case execution.RoleAssistant:
			for _, call := range message.ToolCalls {
				open = append(open, call.CallID)
			}
			asked = open
		case execution.RoleTool:
			require.NotEmpty(b.t, open, "message %d answers nothing", message.Index)
			require.Equal(b.t, open[0], message.ToolResult.CallID, "message %d", message.Index)
			open = open[1:]
		}
	}
	require.Empty(b.t, open)
	return said
}

func (b *busy) messages(id execution.ID) (all []execution.HistoryMessage) {
	b.t.Helper()
	for from, more := 0, true; more; {
		path := fmt.Sprintf("/v1/executions/%s/messages?from=%d&limit=1000", id, from)
		answer, err := b.api.Do(context.Background(), http.MethodGet, path, nil, nil)
		require.NoError(b.t, err)
		require.Equal(b.t, http.StatusOK, answer.Status, string(answer.Body))
		var page execution.MessagePage
		require.NoError(b.t, json.Unmarshal(answer.Body, &page))
		all = append(all, page.Messages...)
		from, more = page.NextFrom, page.HasMore
	}
	return all
}

func (b *busy) checkReject() {
	require.Empty(b.t, b.in(execution.Canceled))
	require.Equal(b.t, map[string]int{"409 conversation_busy": submissions - len(b.accepted) + 1}, b.refused)
	require.Greater(b.t, len(b.accepted), 1)
	require.Equal(b.t, b.in(execution.Completed), b.history())
}

func (b *busy) checkEnqueue() {
	require.Empty(b.t, b.in(execution.Canceled))
	require.Equal(b.t, map[string]int{"429 overloaded": submissions - len(b.accepted) + 1}, b.refused, "more than a hundred may not wait")
	require.Greater(b.t, len(b.accepted), 101)
	said, last := b.history(), int64(0)
	require.ElementsMatch(b.t, b.in(execution.Completed), said)
	for _, text := range said { // the order of the history is that of the turns
		require.LessOrEqual(b.t, last, b.accepted[text].CreatedAtMs, "%q came before one that was accepted earlier", text)
		last = b.accepted[text].CreatedAtMs
	}
}

func (b *busy) checkInterrupt() {
	require.Empty(b.t, b.refused)
	completed := b.in(execution.Completed)
	all := b.in(execution.Completed, execution.Canceled)
	require.Equal(b.t, completed[len(completed)-1], all[len(all)-1], "the last one is let finish")
	require.ElementsMatch(b.t, all, b.history(), "what was interrupted stays")
}

func (b *busy) checkRollback() {
	require.Empty(b.t, b.refused)
	completed := b.in(execution.Completed)
	require.Equal(b.t, completed, b.history(), "only what survived")
}

// checkReplays submits again what was submitted, and requires that nothing comes of it.
func (b *busy) checkReplays(onBusy execution.OnBusy) {
	for text, view := range b.accepted {
		if text == "first of all" {
			continue
		}
		answer, err := b.api.TrySubmit(context.Background(), key(text), b.request(text, onBusy))
		require.NoError(b.t, err)
		require.Equal(b.t, http.StatusOK, answer.Status, string(answer.Body))
		again, err := answer.View()
		require.NoError(b.t, err)
		require.Equal(b.t, view, again)
	}
}
