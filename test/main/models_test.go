package main_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
	"github.com/pawl-run/pawl/test/modelserver"
	"github.com/pawl-run/pawl/test/scenario"
)

// Cases E2 and E4: whatever a turn left behind (results, errors, a rejected call, a call that a cancel left unanswered),
// the request of the next turn keeps the rules of each provider. The server answers 400 to one that does not.
func TestCaseE4_EveryTurnBehindAToolIsWellFormedForEachProvider(t *testing.T) {
	t.Parallel()
	models := modelserver.New(t, scenario.Answer)
	tools := harness.Tools(t)
	scenario.Prepare(tools)
	agents := map[string][2]string{
		"openai": {"openai", models.URL + "/v1"}, "deepseek": {"openai", models.URL + "/deepseek/v1"},
		"kimi": {"openai", models.URL + "/kimi/v1"}, "anthropic": {"anthropic", models.URL},
	}
	file := "agents:"
	for name, model := range agents {
		file += scenario.Agent(name, model[0], model[1])
	}
	stack := harness.New(t, harness.Config{
		Agents: strings.ReplaceAll(file, "$TOOLS", tools.URL), Tag: "none", Env: map[string]string{"TEST_MODEL_KEY": "sk-canary-0123456789"},
	})
	api := stack.API()
	stack.Reaper()
	stack.Worker()
	t.Run("played", func(t *testing.T) {
		for name := range agents {
			for _, s := range scenario.All() {
				t.Run(name+": "+s.Name+", and a second turn", func(t *testing.T) {
					t.Parallel()
					s.Play(t, scenario.Cast{API: api.For(t), Tools: tools, Agent: name})
				})
			}
		}
	})
	models.CheckAccepted(t)
	require.NotEmpty(t, models.Exchanges())
}

// Case F8: what a model says arrives as frames, at most twenty a second whatever its pace, and the log tells of milestones
// only.
func TestCaseF8_DeltasAreFramesAndNeverInTheLog(t *testing.T) {
	t.Parallel()
	const pieces = 400
	long := modelserver.Reply{Pace: 2 * time.Millisecond, Usage: &modelserver.Usage{Input: 20, Output: pieces}}
	for range pieces {
		long.Text = append(long.Text, "piece ")
	}
	watched := make(chan struct{}) // frames reach only those who watch
	models := modelserver.New(t, func(r modelserver.Request) modelserver.Reply {
		if r.Said == "Be brief." {
			return modelserver.Reply{Text: []string{"Yes."}}
		}
		<-watched
		return long
	})
	begin := sync.OnceFunc(func() { close(watched) })
	t.Cleanup(begin)
	stack := shipped(t, "agents:\n  talker: {model: {provider: openai, name: test-model, baseURL: \""+models.URL+"/v1\"}}\n")
	api := stack.API()
	stack.Reaper()
	stack.Worker()
	brief := api.Submit("talker", "Be brief.")
	api.AwaitState(brief.ID, endTimeout, execution.Completed)
	id := api.Submit("talker", "Take your time.").ID
	reader := api.Stream(id, 0)
	defer reader.Cut()
	for message, ok := reader.Next(); message.Type != string(execution.TypeModelStarted); message, ok = reader.Next() {
		require.True(t, ok, "the stream ended before the model was asked")
	}
	begin()
	var frames int
	var text strings.Builder
	began := time.Now()
	for message, ok := reader.Any(); ok; message, ok = reader.Any() {
		if message.Type != string(execution.FrameTextDelta) {
			continue
		}
		require.Zero(t, message.ID, "a frame has no place in the log")
		var frame execution.Frame
		require.NoError(t, json.Unmarshal([]byte(message.Data), &frame))
		text.WriteString(frame.Text)
		frames++
	}
	took := time.Since(began)
	require.LessOrEqual(t, float64(frames), 20*took.Seconds()+3)
	require.Positive(t, frames)
	view := api.AwaitState(id, endTimeout, execution.Completed)
	require.Equal(t, strings.Join(long.Text, ""), view.Outcome.Answer)
	require.LessOrEqual(t, text.Len(), len(view.Outcome.Answer), "nothing of it is sent twice")
	require.Equal(t, harness.Types(api.Events(brief.ID)), harness.Types(api.Events(id)))
	t.Logf("%d pieces in %.1f s: %d frames", pieces, took.Seconds(), frames)
}
