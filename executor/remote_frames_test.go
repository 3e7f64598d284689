package executor

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/execution"
)

func kindsOf(t *testing.T, frames []execution.Frame) []string {
	t.Helper()
	var out []string
	for _, frame := range frames {
		kind := string(frame.Type)
		if frame.Type == execution.FrameAgentEvent {
			var event struct {
				Type string `json:"type"`
			}
			require.NoError(t, json.Unmarshal(frame.Event, &event))
			kind = event.Type
		}
		out = append(out, kind)
	}
	return out
}

func TestTheEventsOfARemoteRunAreFrames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var store *published
		w := newWorld(t, farAway(), noKit(), func(cfg *Config) {
			withRemotes(turns(working("t1"), done("Booked.", "t1")))(cfg)
			store = &published{Store: cfg.Store}
			cfg.Store = store
		})
		require.Equal(t, execution.Completed, w.drive().State)
		require.Equal(t, []string{
			"run_start", "step_start", "commit", "text_delta", "inference_complete", "commit", "step_end", "run_finish",
		}, store.behind(t, "before_model_request"), "the first ones once, the last ones when the answer is written")
	})
}

func TestALongEventIsItsTypeAlone(t *testing.T) {
	t.Parallel()
	frame, ok := agentFrame(backend.InferenceComplete{Model: strings.Repeat("x", maxFrameText)})
	require.True(t, ok)
	require.JSONEq(t, `{"type":"inference_complete"}`, string(frame.Event))
}
