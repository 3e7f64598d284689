package dashboard

import (
	"bytes"
	"html/template"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/execution"
)

// instantsOf are mostly those of a day, in and out of order; and those that only a damaged store has.
func instantsOf() *rapid.Generator[int64] {
	day := rapid.Int64Range(1_764_000_000_000, 1_764_086_400_000)
	return rapid.OneOf(day, day, day, day, rapid.Int64(), rapid.SampledFrom([]int64{0, 1, -1, math.MaxInt64, math.MinInt64}))
}

func payloadOf(rt *rapid.T) execution.Payload {
	call := execution.CallID(rapid.SampledFrom([]string{"call_0_0", "call_0_1", "call_1_0", "<b>", ""}).Draw(rt, "call"))
	name := rapid.SampledFrom([]string{"refund", "</title><script>alert(1)</script>", "\x00", "å"}).Draw(rt, "name")
	all := []execution.Payload{
		&execution.ExecutionQueued{}, &execution.ExecutionStarted{}, &execution.ExecutionResumed{}, &execution.InteractionReceived{},
		&execution.InteractionRequired{}, &execution.ExecutionSuspended{}, &execution.ModelStarted{InvocationID: name},
		&execution.ModelCompleted{InvocationID: name}, &execution.ToolStarted{CallID: call, Name: name},
		&execution.ToolCompleted{CallID: call, Name: name, Failed: true}, &execution.Warning{Code: name, Message: name},
		&execution.RetryScheduled{Node: name, Code: name, Attempt: -1}, &execution.CancelRequested{}, &execution.ExecutionCompleted{},
		&execution.ExecutionFailed{}, &execution.ExecutionCanceled{}, &execution.UnreadableEvent{},
	}
	return rapid.SampledFrom(all).Draw(rt, "payload")
}

// hostile is what a store that somebody has damaged, with a clock that goes back and forth, may say of an execution.
func hostile(rt *rapid.T) shown {
	s := shown{
		more: rapid.Bool().Draw(rt, "more"), held: rapid.Bool().Draw(rt, "held"), nowMs: instantsOf().Draw(rt, "now"),
		state: rapid.SampledFrom(execution.States()).Draw(rt, "state"), step: execution.Step(rapid.Uint64Range(0, 30).Draw(rt, "step")),
	}
	for i := range rapid.IntRange(0, 40).Draw(rt, "events") {
		s.events = append(s.events, execution.Event{
			Sequence: execution.Sequence(i + 1), OccurredAtMs: instantsOf().Draw(rt, "at"), Payload: payloadOf(rt),
		})
	}
	first := execution.Step(rapid.Uint64Range(0, 20).Draw(rt, "first"))
	for i := range rapid.IntRange(0, 20).Draw(rt, "steps") {
		s.steps = append(s.steps, execution.Checkpoint{
			Step: first + execution.Step(i), Node: rapid.SampledFrom([]string{"tool_call", "", "<i>"}).Draw(rt, "node"),
			CommittedAtMs: instantsOf().Draw(rt, "committed"), ClaimedAtMs: instantsOf().Draw(rt, "claimed"),
		})
	}
	return s
}

// TestNoLogBreaksThePicture: whatever the log and the checkpoints say, there is a picture within its frame.
func TestNoLogBreaksThePicture(t *testing.T) {
	t.Parallel()
	page := template.Must(template.New("").Funcs(functions(assets{})).ParseFS(templateFiles, "templates/execution.html", "templates/parts.html"))
	rapid.Check(t, func(rt *rapid.T) {
		s := hostile(rt)
		got := draw(s)
		if got == nil {
			require.Less(rt, len(s.events), 2)
			return
		}
		for _, b := range got.Bars {
			inFrame(rt, b.Title, b.X, b.W, b.TextX)
			require.LessOrEqual(rt, b.X+b.W, float64(pictureWidth), b.Title)
			require.NotContains(rt, b.Title, ", -", "nothing takes less than no time")
			require.Less(rt, b.Y+b.H, got.AxisY, b.Title)
		}
		for _, m := range got.Marks {
			inFrame(rt, m.Title, m.X)
		}
		for _, one := range got.Ticks {
			inFrame(rt, one.Label, one.X)
			require.NotContains(rt, one.Label, "-")
		}
		require.NotContains(rt, got.Summary, "-")
		require.LessOrEqual(rt, len(got.Lanes), maxToolLanes+3)
		var out bytes.Buffer
		require.NoError(rt, page.ExecuteTemplate(&out, "timeline", got))
		for _, never := range []string{"NaN", "Inf", "<script", "<i>", "<b>"} {
			require.NotContains(rt, out.String(), never)
		}
	})
}

func inFrame(rt *rapid.T, what string, all ...float64) {
	for _, one := range all {
		require.True(rt, one >= 0 && one <= pictureWidth, "%s: %v", what, one)
	}
}

// TestTheTimesOfCheckpointsAreNeverBelowZero: a clock may go back, and of a damaged checkpoint the times are not known.
func TestTheTimesOfCheckpointsAreNeverBelowZero(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		for _, row := range timed(hostile(rt).steps) {
			require.GreaterOrEqual(rt, row.TookMs, int64(0))
			require.GreaterOrEqual(rt, row.IdleMs, int64(0))
		}
	})
	rows := timed(trail(0, "a", 1000, 0, "", 0, 0, "c", 5000, 4000, "d", 6000, 4000))
	require.False(t, rows[2].Timed, "since when is not known")
	require.True(t, rows[3].Timed)
	got := draw(shown{
		events: log(1000, &execution.ExecutionQueued{}, 6000, &execution.ExecutionCompleted{}), state: execution.Completed, step: 3,
		steps: trail(0, "a", 1000, 0, "", 0, 0, "c", 5000, 4000, "d", 6000, 4000),
	})
	for _, title := range append(told(t, got, "node"), told(t, got, "pause")...) {
		require.False(t, strings.Contains(title, "step 0") || strings.Contains(title, "step 1,"), title)
	}
}
