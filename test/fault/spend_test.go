//go:build faultpoint

package fault

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
	"github.com/pawl-run/pawl/test/modelserver"
)

// talkers are agents whose models answer over HTTP, each in its own wire format.
const talkers = `
agents:
  openai:
    model: {provider: openai, name: test-model, baseURL: "$MODELS/v1"}
    instructions: Tell a long story.
  anthropic:
    model: {provider: anthropic, name: test-model, baseURL: "$MODELS"}
    instructions: Tell a long story.
`

// story is a beginning long enough for an estimate to be more than nothing.
var story = []string{"Once upon a time ", "there was a pawl ", "that let a ratchet move forward ", "and never slip back. "}

// endless answers every request with a beginning, and never ends.
func endless(modelserver.Request) modelserver.Reply {
	return modelserver.Reply{Text: story, Usage: &modelserver.Usage{Input: 20, Output: 8}, Hold: true}
}

// streaming is an installation whose model is in the middle of an answer.
type streaming struct {
	models *modelserver.Server
	stack  *harness.Stack
	api    *harness.API
	worker *harness.Process
	id     execution.ID
}

// tell starts an execution of the agent and waits until a reader of its stream has seen the beginning of the answer.
func tell(t *testing.T, agent string, answer func(modelserver.Request) modelserver.Reply, env ...map[string]string) *streaming {
	t.Helper()
	watched := make(chan struct{}) // frames reach only those who watch
	s := &streaming{models: modelserver.New(t, func(r modelserver.Request) modelserver.Reply {
		<-watched
		return answer(r)
	})}
	begin := sync.OnceFunc(func() { close(watched) })
	t.Cleanup(begin)
	s.stack = harness.New(t, harness.Config{Agents: strings.ReplaceAll(talkers, "$MODELS", s.models.URL)})
	s.api = s.stack.API()
	s.stack.Reaper()
	s.worker = s.stack.Worker(env...)
	s.id = s.api.Submit(agent, "Go on.").ID
	reader := s.api.Stream(s.id, 0)
	defer reader.Cut() // case D5: a reader that leaves changes nothing
	for message, ok := reader.Next(); message.Type != string(execution.TypeModelStarted); message, ok = reader.Next() {
		require.True(t, ok, "the stream ended before the model was asked")
	}
	begin()
	for text := ""; !strings.Contains(text, story[0]); {
		message, ok := reader.Any()
		require.True(t, ok, "the stream ended before the answer began")
		if message.Type == string(execution.FrameTextDelta) {
			text += message.Data
		}
	}
	return s
}

func (s *streaming) closed(t *testing.T, n int) modelserver.Exchange {
	t.Helper()
	harness.Eventually(t, endTimeout, "the provider's connection is closed", func() bool {
		list := s.models.Exchanges()
		return len(list) >= n && list[n-1].Closed
	})
	return s.models.Exchanges()[n-1]
}

// Case D5: canceling an execution whose model is in the middle of its answer ends the answer, and nothing of it comes back.
func TestCaseD5_CancelDuringAStreamingAnswerStopsTheSpend(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"openai", "anthropic"} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			s := tell(t, provider, endless)
			asked, span := time.Now(), s.stack.Span()
			_, status := s.api.Cancel(s.id)
			require.Equal(t, http.StatusAccepted, status)
			took := s.closed(t, 1).Ended.Sub(asked)
			span.Within(t, took, stopBound, "the end of the answer")
			s.api.AwaitState(s.id, endTimeout, execution.Canceled)
			checkCanceled(t, s.api, s.id)
			checkSpent(t, provider, s.api.Get(s.id).Usage)
			require.Len(t, s.models.Exchanges(), 1, "nothing was sent after the cancel")
			next := harness.Submission(provider, "Where were we?")
			next.ConversationID = s.api.Get(s.id).ConversationID
			answer, err := s.api.TrySubmit(t.Context(), "", next)
			require.NoError(t, err)
			require.Equal(t, http.StatusAccepted, answer.Status, "%s", answer.Body)
			harness.Eventually(t, endTimeout, "the next turn asks", func() bool { return len(s.models.Exchanges()) == 2 })
			require.NotContains(t, string(s.models.Exchanges()[1].Body), "ratchet", "an answer that was cut is no message")
			t.Logf("from the cancel: connection closed after %.3f s", took.Seconds())
		})
	}
}

// checkSpent expects what the provider has reported so far (Anthropic tells of the input first), and an estimate of the
// rest, which says that it is one.
func checkSpent(t *testing.T, provider string, usage execution.Usage) {
	t.Helper()
	require.Equal(t, int64(1), usage.Requests, "%+v", usage)
	require.Positive(t, usage.InputTokens, "%+v", usage)
	require.Positive(t, usage.OutputTokens, "%+v", usage)
	require.Equal(t, usage.InputTokens+usage.OutputTokens, usage.TotalTokens, "%+v", usage)
	require.True(t, usage.Partial, "%+v", usage)
	if provider == "anthropic" {
		require.Equal(t, int64(20), usage.InputTokens, "as it was reported")
	}
}

// Case D1: a worker that is asked to stop cuts an answer that outlasts its drain time, and that is no cancel: the next
// worker asks again, and both requests are charged.
func TestCaseD1_AShutdownDuringAStreamingAnswerIsNoCancel(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"openai", "anthropic"} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			requests := make(chan struct{}, 1)
			s := tell(t, provider, func(r modelserver.Request) modelserver.Reply {
				select {
				case requests <- struct{}{}:
					return endless(r)
				default:
					return modelserver.Reply{Text: []string{"The end."}, Usage: &modelserver.Usage{Input: 20, Output: 2}}
				}
			}, map[string]string{"PAWL_DRAIN_TIMEOUT": "100ms"})
			s.stack.Worker()
			s.worker.StopCleanly()
			s.closed(t, 1)
			view := s.api.AwaitState(s.id, endTimeout, execution.Completed)
			require.Equal(t, "The end.", view.Outcome.Answer)
			events := s.api.Events(s.id)
			harness.CheckLog(t, s.id, events)
			require.NotContains(t, harness.Types(events), execution.TypeCancelRequested)
			require.Zero(t, harness.CountWarnings(events, execution.WarningReclaimed), "the claim was handed back")
			require.Equal(t, int64(2), view.Usage.Requests)
			require.Greater(t, view.Usage.InputTokens, int64(20), "the request that was cut is charged")
			require.True(t, view.Usage.Partial)
		})
	}
}
