package dashboard

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

// trail is checkpoints, each with its node, when it was written and when its writer had got the execution.
func trail(first execution.Step, all ...any) (steps []execution.Checkpoint) {
	for i := 0; i+2 < len(all); i += 3 {
		steps = append(steps, execution.Checkpoint{
			Step: first + execution.Step(i/3), Node: all[i].(string), CommittedAtMs: int64(all[i+1].(int)), ClaimedAtMs: int64(all[i+2].(int)),
		})
	}
	return steps
}

// told are the bars of a kind by their titles, up to when they began.
func told(t *testing.T, picture *timeline, kind string) (all []string) {
	t.Helper()
	require.NotNil(t, picture)
	for _, b := range picture.Bars {
		if b.Kind == kind {
			all = append(all, b.Title[:len(b.Title)-len(", from 1970-01-01 00:00:00 UTC")])
		}
	}
	return all
}

func TestANodeRunsFromItsClaimToItsCheckpoint(t *testing.T) {
	t.Parallel()
	got := draw(shown{
		events: log(1000, &execution.ExecutionQueued{}, 3000, &execution.ExecutionStarted{}, 9000, &execution.ExecutionCompleted{}),
		steps: trail(0,
			"run_start", 1000, 0, "prepare_model_request", 3010, 3000, "before_model_request", 3020, 3010, "model_response", 8000, 6000,
			"run_complete", 9000, 6000),
		state: execution.Completed, step: 4,
	})
	require.Equal(t, []string{
		"run start behind step 0, 10 ms", "prepare model request behind step 1, 10 ms", "before model request behind step 2, 2.0 s",
		"model response behind step 3, 1.0 s",
	}, told(t, got, "node"))
	require.Equal(t, []string{
		"in the queue, waiting, or tried in vain behind step 0, 2.0 s", "in the queue, waiting, or tried in vain behind step 2, 3.0 s",
	}, told(t, got, "pause"))
	labels := make([]string, len(got.Lanes))
	for i, one := range got.Lanes {
		labels[i] = one.Label
	}
	require.Equal(t, []string{"state", "nodes", "model"}, labels)
	for _, b := range got.Bars {
		require.GreaterOrEqual(t, b.X, float64(pictureLeft), b.Title)
		require.LessOrEqual(t, b.X+b.W, float64(pictureWidth), b.Title)
	}
}

func TestBoundariesWrittenAtOnceAreOneBar(t *testing.T) {
	t.Parallel()
	got := draw(shown{
		events: log(1000, &execution.ExecutionQueued{}, 1500, &execution.ExecutionStarted{}, 4000, &execution.ExecutionCompleted{}),
		steps: trail(0, "run_start", 1000, 0, "prepare_model_request", 2000, 1500, "before_model_request", 2000, 1500, "model_response", 2000, 1500,
			"run_complete", 4000, 1500),
		state: execution.Completed, step: 4,
	})
	require.Equal(t, []string{
		"run start, prepare model request, before model request behind steps 0 to 2, written at once, 500 ms",
		"model response behind step 3, 2.0 s",
	}, told(t, got, "node"))
}

func TestTheNodeOfAnOpenExecutionGoesOnWhileItIsHeld(t *testing.T) {
	t.Parallel()
	s := shown{
		events: log(1000, &execution.ExecutionQueued{}, 1010, &execution.ExecutionStarted{}),
		steps:  trail(0, "run_start", 1000, 0, "before_model_request", 1020, 1010), state: execution.Running, step: 1, nowMs: 4020, held: true,
	}
	require.Equal(t, "before model request behind step 1, its time in the queue included, 3.0 s so far", told(t, draw(s), "node")[1])
	s.held = false
	require.Len(t, told(t, draw(s), "node"), 1)
	require.Contains(t, told(t, draw(s), "pause")[1], "behind step 1, 3.0 s so far")
	s.step = 2 // what was read is older than the view
	require.Len(t, told(t, draw(s), "pause"), 1)
	s.step, s.more = 1, true // so is what comes behind a page of the log
	require.Len(t, told(t, draw(s), "pause"), 1)
}

func TestAPageOfALongLogHasItsPartOfTheNodes(t *testing.T) {
	t.Parallel()
	s := shown{
		events: log(5000, &execution.ModelStarted{Turn: 1, InvocationID: "i"}, 7000, &execution.ModelCompleted{Turn: 1, InvocationID: "i"}),
		steps:  trail(10, "a", 1000, 900, "b", 2000, 1900, "c", 6000, 4000, "d", 6500, 6400, "e", 9000, 6800, "f", 9500, 9100),
		state:  execution.Running, step: 60, more: true, nowMs: 99_000,
	}
	require.Equal(t, []string{"b behind step 11, 2.0 s", "c behind step 12, 100 ms", "d behind step 13, 2.2 s"}, told(t, draw(s), "node"),
		"whole lengths, of those that are there in part as well")
	s.steps = nil
	require.Len(t, draw(s).Lanes, 2, "without checkpoints there is a picture all the same")
	s.steps = trail(70, "late", 20_000, 19_000, "later", 21_000, 20_500)
	require.Len(t, draw(s).Lanes, 2)
}

func TestManyNodesHaveTheirPlaces(t *testing.T) {
	t.Parallel()
	var all []any
	for i := range inSteps {
		all = append(all, "tool_return", 1000+20*i, 1000+20*i-10)
	}
	end := 1000 + 20*(inSteps-1)
	got := draw(shown{
		events: log(1000, &execution.ExecutionQueued{}, end, &execution.ExecutionCompleted{}), steps: trail(0, all...),
		state: execution.Completed, step: inSteps - 1,
	})
	last := 0.0
	for _, b := range got.Bars {
		if b.Kind != "node" {
			continue
		}
		require.GreaterOrEqual(t, b.X, last, b.Title)
		require.LessOrEqual(t, b.X+b.W, float64(pictureWidth), b.Title)
		last = b.X + b.W
	}
}

func TestANextPageBeginsWithTheStepOfItsEvents(t *testing.T) {
	t.Parallel()
	steps := trail(5, "a", 1, 0, "b", 2, 0, "c", 3, 0)
	for i := range steps {
		steps[i].Evidence = json.RawMessage(fmt.Sprintf(`{"cursor":{"streamCursor":%d}}`, 100*(i+1)))
	}
	require.EqualValues(t, 6, stepAt(steps, 250))
	require.EqualValues(t, 6, stepAt(steps, 200))
	require.EqualValues(t, 7, stepAt(steps, 900))
	require.Zero(t, stepAt(steps, 50))
	require.Zero(t, stepAt(nil, 50))
}

func TestCheckpointsSayHowLongWhatLedToThemTook(t *testing.T) {
	t.Parallel()
	rows := timed(trail(0, "a", 1000, 0, "b", 2000, 1900, "c", 2000, 1900, "d", 5000, 1900, "e", 9000, 8000))
	require.Equal(t, stepRow{Checkpoint: rows[0].Checkpoint}, rows[0])
	require.Equal(t, stepRow{Checkpoint: rows[1].Checkpoint, Timed: true, TookMs: 100, IdleMs: 900}, rows[1])
	require.Equal(t, stepRow{Checkpoint: rows[2].Checkpoint, Timed: true, WithPrevious: true}, rows[2])
	require.Equal(t, stepRow{Checkpoint: rows[3].Checkpoint, Timed: true, TookMs: 3000}, rows[3])
	require.Equal(t, stepRow{Checkpoint: rows[4].Checkpoint, Timed: true, TookMs: 1000, IdleMs: 3000}, rows[4])
}
