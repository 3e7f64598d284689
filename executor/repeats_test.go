package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// noting is a model that keeps the last request.
func noting(last *local.ModelRequest, model fakeModel) fakeModel {
	return func(ctx context.Context, request local.ModelRequest) (local.ModelResponse, error) {
		*last = request
		return model(ctx, request)
	}
}

// The same call that fails five times in the same way ends the run, also over crashes: what is counted is in the state.
func TestARepeatedCallEndsTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kit := &local.Kit{Model: script(calling("lookup")), Tools: []local.Tool{tool("lookup", "", fails(errors.New("no such city")))}}
		w := newWorld(t, &agent.Definition{}, kit, nil)
		row := w.drive()
		require.Equal(t, execution.CodeRepeatedCall, row.Failure.Code)
		require.Equal(t, "the model called lookup 5 times with the same arguments and got the same error", row.Failure.Message)
		require.Equal(t, int64(5), row.Usage.Requests)
		require.Equal(t, w.history(), repair(w.history()))
	})
}

// Other arguments, another error and a success in between are no repetition.
func TestWhatIsNoRepetition(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		arguments func(turn int) string
		result    func(turn int) (string, bool)
	}{
		"other arguments": {
			arguments: func(turn int) string { return fmt.Sprintf(`{"page":%d}`, turn) },
			result:    func(int) (string, bool) { return "no", true },
		},
		"another error": {result: func(turn int) (string, bool) { return fmt.Sprint("no ", turn), true }},
		"a success":     {result: func(turn int) (string, bool) { return "no", turn%4 != 3 }},
		"no error":      {result: func(int) (string, bool) { return "yes", false }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				turn := 0
				kit := &local.Kit{
					Model: fakeModel(func(context.Context, local.ModelRequest) (local.ModelResponse, error) {
						if turn++; turn > 12 {
							return text("done"), nil
						}
						response := calling("lookup")
						if c.arguments != nil {
							response.ToolCalls[0].Arguments = json.RawMessage(c.arguments(turn))
						}
						return response, nil
					}),
					Tools: []local.Tool{tool("lookup", "", func(_ context.Context, call local.Invocation) (local.Answer, error) {
						said, failed := c.result(turn)
						result := execution.TextResult(call.Call, said)
						if failed {
							result = execution.ErrorResult(call.Call, execution.ToolExecution, said)
						}
						return local.Answer{Result: &result}, nil
					})},
				}
				require.Equal(t, execution.Completed, newWorld(t, &agent.Definition{}, kit, nil).drive().State)
			})
		})
	}
}

// However calls follow each other, the state stays small, and a call is over its count exactly when its last five results
// were the same error, with few other failing calls in between.
func TestRepeatsAreCountedInASmallState(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := &machine{}
		last := map[string]Repeat{}
		for range rapid.IntRange(1, 60).Draw(rt, "results") {
			name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "call")
			text := rapid.SampledFrom([]string{"x", "y", ""}).Draw(rt, "error")
			call := execution.ToolCall{Name: name}
			result := execution.TextResult(call, "fine")
			want := Repeat{}
			if text != "" {
				result = execution.ErrorResult(call, execution.ToolExecution, text)
				want = Repeat{Error: text, Count: 1}
				if last[name].Error == text {
					want.Count += last[name].Count
				}
			}
			last[name] = want
			require.Equal(rt, want.Count, m.repeated(name, result))
			require.LessOrEqual(rt, len(m.state.Repeats), 3)
		}
		for i := range 100 {
			m.repeated(fmt.Sprint(i), execution.ErrorResult(execution.ToolCall{}, execution.ToolExecution, "x"))
		}
		require.Len(rt, m.state.Repeats, keptRepeats)
	})
}
