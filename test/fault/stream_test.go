//go:build faultpoint

package fault

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

const streamer = `
agents:
  streamer:
    model:
      provider: scripted
      turns:
        - toolCalls:
            - {name: lookup, arguments: {city: Oslo}}
            - {name: pay, arguments: {amount: 7}}
        - {delay: 150ms, toolCalls: [{name: lookup, arguments: {city: Bergen}}]}
        - {delay: 150ms, text: "Booked."}
    tools:
      - {name: lookup, type: http, url: "$TOOLS/lookup", recovery: idempotent}
      - {name: pay, type: http, url: "$TOOLS/pay", recovery: unsafe}
`

func TestAStreamCutAtEveryEventIsWholeOnASecondAPI(t *testing.T) {
	t.Parallel()
	tools := harness.Tools(t)
	tools.Behave("/lookup", harness.After(20*time.Millisecond))
	stack := harness.New(t, harness.Config{Agents: agentsFor(tools, streamer)})
	first, second := stack.API(), stack.API()
	stack.Reaper()
	stack.Worker()

	t.Run("cases F2, F3: cut after every event while it runs", func(t *testing.T) {
		first, second := first.For(t), second.For(t)
		view := first.Submit("streamer", "Oslo, please")
		got := followWithCuts(t, []*harness.API{first, second}, view.ID)
		require.Equal(t, asMessages(t, first.Events(view.ID)), got)
		t.Logf("followed live over %d cut connections on two API processes", len(got))
	})
	t.Run("cases F2, F3: cut after each event of an ended execution", func(t *testing.T) {
		first, second := first.For(t), second.For(t)
		view := first.Submit("streamer", "Oslo, please")
		first.AwaitState(view.ID, endTimeout, execution.Completed)
		journal := asMessages(t, first.Events(view.ID))
		for cut := range len(journal) + 1 {
			got := take(t, first, view.ID, 0, cut)
			got = append(got, rest(t, second, view.ID, execution.Sequence(cut))...)
			require.Equal(t, journal, got, "cut after event %d", cut)
		}
		t.Logf("cut after each of %d events and resumed on a second API process", len(journal))
	})
	t.Run("case A23: a second API finishes what a killed one was streaming", func(t *testing.T) {
		first, second := first.For(t), second.For(t)
		view := first.Submit("streamer", "Oslo, please")
		got := take(t, first, view.ID, 0, 4)
		first.Kill()
		got = append(got, rest(t, second, view.ID, got[3].ID)...)
		require.Equal(t, asMessages(t, second.Events(view.ID)), got)
	})
}

// followWithCuts reads one event per connection, each from another API than the one before.
func followWithCuts(t *testing.T, apis []*harness.API, id execution.ID) []harness.Message {
	t.Helper()
	var got []harness.Message
	after := execution.Sequence(0)
	for i := 0; ; i++ {
		one := take(t, apis[i%len(apis)], id, after, 1)
		got = append(got, one...)
		after = one[0].ID
		if one[0].Type == string(execution.TypeExecutionCompleted) {
			return got
		}
	}
}

// take reads n events and cuts the connection.
func take(t *testing.T, api *harness.API, id execution.ID, after execution.Sequence, n int) []harness.Message {
	t.Helper()
	stream := api.Stream(id, after)
	defer stream.Cut()
	var got []harness.Message
	for range n {
		message, ok := stream.Next()
		require.True(t, ok, "the stream ended after %d of %d events", len(got), n)
		got = append(got, message)
	}
	return got
}

// rest reads until the server ends the stream.
func rest(t *testing.T, api *harness.API, id execution.ID, after execution.Sequence) []harness.Message {
	t.Helper()
	stream := api.Stream(id, after)
	defer stream.Cut()
	var got []harness.Message
	for {
		message, ok := stream.Next()
		if !ok {
			return got
		}
		got = append(got, message)
	}
}

// asMessages is the journal's list as a stream must give it.
func asMessages(t *testing.T, events []execution.Event) []harness.Message {
	t.Helper()
	var messages []harness.Message
	for _, event := range events {
		data, err := json.Marshal(event)
		require.NoError(t, err)
		messages = append(messages, harness.Message{
			ID: event.Sequence, Type: string(event.Payload.EventType()), Data: string(data),
		})
	}
	return messages
}
