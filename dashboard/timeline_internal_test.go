package dashboard

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

// log is the events of payloads, each at an instant.
func log(pairs ...any) (events []execution.Event) {
	for i := 0; i+1 < len(pairs); i += 2 {
		events = append(events, execution.Event{
			Sequence: execution.Sequence(i/2 + 1), OccurredAtMs: int64(pairs[i].(int)), Payload: pairs[i+1].(execution.Payload),
		})
	}
	return events
}

func TestThePictureHasALaneForEachCallThatRunsBesideAnother(t *testing.T) {
	t.Parallel()
	events := log(
		1000, &execution.ExecutionQueued{},
		1010, &execution.ExecutionStarted{},
		1020, &execution.ModelStarted{Turn: 0, InvocationID: "i"},
		2020, &execution.ModelCompleted{Turn: 0, InvocationID: "i"},
		2030, &execution.ToolStarted{CallID: "call_0_0", Name: "lookup"},
		2030, &execution.ToolStarted{CallID: "call_0_1", Name: "refund"},
		2040, &execution.ToolCompleted{CallID: "call_0_0", Name: "lookup"},
		2050, &execution.Warning{Code: execution.WarningReclaimed, Message: "an earlier claim of this step ran out"},
		2060, &execution.RetryScheduled{Node: "tool_call", Attempt: 1, AtMs: 3000, Code: "model_error"},
		2070, &execution.InteractionRequired{RequestID: "r", Kind: execution.Approval},
		86_402_070, &execution.InteractionReceived{RequestID: "r"},
		86_402_080, &execution.ToolCompleted{CallID: "call_0_1", Name: "refund", Failed: true},
		86_402_090, &execution.ToolStarted{CallID: "call_1_0", Name: "later"},
		86_402_100, &execution.ToolCompleted{CallID: "call_1_0", Name: "later"},
		86_402_200, &execution.ExecutionCompleted{},
	)
	got := draw(shown{events: events, state: execution.Completed, nowMs: 99_999_999_999})
	require.NotNil(t, got)
	bars := map[string]bar{}
	for _, b := range got.Bars {
		require.GreaterOrEqual(t, b.X, float64(pictureLeft))
		require.LessOrEqual(t, b.X+b.W, float64(pictureWidth))
		bars[b.Title[:4]] = b
	}
	require.Len(t, got.Lanes, 4, "states, models, and two calls at once")
	require.Equal(t, bars["look"].Y, bars["late"].Y, "a row is taken again")
	require.NotEqual(t, bars["look"].Y, bars["refu"].Y)
	require.Equal(t, "failed", bars["refu"].Kind)
	require.Greater(t, bars["turn"].W, 60.0, "a second of work is seen beside a day of waiting")
	kinds := []string{}
	for _, m := range got.Marks {
		kinds = append(kinds, m.Kind)
	}
	require.Equal(t, []string{"reclaim", "retry", "execution_completed"}, kinds)
	require.Contains(t, got.Summary, "1 model request and 3 tool calls in 1d 0h")
}

func TestThePictureOfAnOpenExecutionGoesUpToNow(t *testing.T) {
	t.Parallel()
	require.Nil(t, draw(shown{events: log(1000, &execution.ExecutionQueued{}), state: execution.Queued, nowMs: 2000}))
	events := log(1000, &execution.ExecutionQueued{}, 1010, &execution.ExecutionStarted{}, 1020, &execution.ModelStarted{InvocationID: "i"})
	got := draw(shown{events: events, state: execution.Running, nowMs: 5000})
	open := 0
	for _, b := range got.Bars {
		if b.Open {
			open++
			require.Contains(t, b.Title, "so far")
		}
	}
	require.Equal(t, 2, open, "the state and the model request")
	require.Equal(t, "+4.0 s", got.Ticks[len(got.Ticks)-1].Label)
}

func TestWhatAnEndCutOffGoesOnNoMore(t *testing.T) {
	t.Parallel()
	events := log(1000, &execution.ExecutionQueued{}, 1010, &execution.ExecutionStarted{}, 1020, &execution.ModelStarted{InvocationID: "i"},
		1030, &execution.ExecutionCanceled{})
	for _, b := range draw(shown{events: events, state: execution.Canceled, nowMs: 5000}).Bars {
		require.False(t, b.Open, b.Title)
		require.NotContains(t, b.Title, "so far")
	}
}

func TestFieldsComeFromPlainSchemasAlone(t *testing.T) {
	t.Parallel()
	require.Len(t, fieldsOf([]byte(`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"number"}},"required":["b"]}`)), 2)
	for _, other := range []string{
		``, `true`, `{"type":"string"}`, `{"type":"object"}`, `{"type":"object","properties":{"a":{"type":"array"}}}`,
		`{"type":"object","properties":{"a":{"type":"integer","enum":[1,2]}}}`, `{"type":"object","properties":{"a":{"type":["string","null"]}}}`,
		`{"type":"object","properties":{"a":{"$ref":"#/x"}}}`,
	} {
		require.Nil(t, fieldsOf([]byte(other)), other)
	}
}

func TestTextsAreCutAndAgesAreShort(t *testing.T) {
	t.Parallel()
	long := make([]rune, maxShownText+1)
	for i := range long {
		long[i] = 'å'
	}
	shown := cut(string(long))
	require.True(t, shown.Cut)
	require.Len(t, []rune(shown.Text), maxShownText+1)
	require.Equal(t, 2*(maxShownText+1), shown.Size)
	for ms, text := range map[int64]string{0: "0s", 59_999: "59s", 61_000: "1m 1s", 3_660_000: "1h 1m", 90_000_000: "1d 1h"} {
		require.Equal(t, text, age(ms))
	}
	require.Equal(t, "1\u202f234\u202f567", thousands(1234567))
	require.Equal(t, "exec_02…KFV0CX", short("exec_0201M8MZMAFNQXA6HC2SGBKFV0CX"))
}
