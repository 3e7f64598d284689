package executor

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// provider is a set of models that say what they were asked, and fail as often as they are told to.
type provider struct {
	mu    sync.Mutex
	asked []string       // guarded by mu
	flaws map[string]int // guarded by mu; how often a model fails yet
	err   error
}

func (p *provider) model(name string) local.Model {
	return fakeModel(func(context.Context, local.ModelRequest) (local.ModelResponse, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.asked = append(p.asked, name)
		if p.flaws[name] > 0 {
			p.flaws[name]--
			return local.ModelResponse{}, p.err
		}
		response := text("of " + name)
		response.Usage = used(100, 10)
		return response, nil
	})
}

// fallingBack is a definition with the models, the first of them first, and its kit.
func fallingBack(p *provider, names ...string) (*agent.Definition, *local.Kit) {
	definition, kit := &agent.Definition{Model: priced(names[0])}, &local.Kit{Model: p.model(names[0])}
	for i, name := range names[1:] {
		other := priced(name)
		other.Prices = &agent.Prices{InputPer1M: int64(i+2) * 1_000_000, OutputPer1M: 1_000_000}
		definition.Model.Fallback = append(definition.Model.Fallback, other)
		kit.Fallback = append(kit.Fallback, p.model(name))
	}
	return definition, kit
}

var errOverloaded = &local.Error{Kind: local.Transient, Code: "overloaded", Message: "too much"}

// A model that fails for a reason that may pass is followed by the next one of its list, at once; the attempt counts, and
// the answer costs what the model that gave it costs.
func TestTheNextModelOfTheListIsAskedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &provider{flaws: map[string]int{"a": 1}, err: errOverloaded}
		definition, kit := fallingBack(p, "a", "b", "c")
		w := newWorld(t, definition, kit, nil)
		began := time.Now()
		row := w.drive()
		require.Equal(t, execution.Completed, row.State)
		require.Equal(t, "of b", row.Outcome.Answer, "%v %v", p.asked, w.types())
		require.Equal(t, []string{"a", "b"}, p.asked)
		require.Less(t, time.Since(began), 100*time.Millisecond)
		require.Equal(t, execution.Usage{
			Requests: 2, InputTokens: 100, OutputTokens: 10, TotalTokens: 110, CostMicros: 210,
		}, row.Usage)
		require.Equal(t, 1, countOf(w.types(), execution.TypeModelStarted))
		for _, event := range w.events() {
			if warning, ok := event.Payload.(*execution.Warning); ok {
				require.Equal(t, &execution.Warning{
					Code: "model_fallback", Message: "openai a failed (overloaded); openai b is asked",
				}, warning)
			}
		}
		require.Equal(t, 1, countOf(w.types(), execution.TypeWarning))
	})
}

// What failed at the step before a model was asked takes no turn of the list.
func TestAToolListThatFailsTakesNoTurnOfTheList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &provider{}
		definition, kit := fallingBack(p, "a", "b")
		set := &hesitant{fakeTool: tool("files", "", says("x")), refusals: 2}
		kit.Tools = []local.Tool{set}
		w := newWorld(t, definition, kit, nil)
		row := w.drive()
		require.Equal(t, execution.Completed, row.State)
		require.Equal(t, []string{"a"}, p.asked)
		require.Equal(t, int64(1), row.Usage.Requests)
	})
}

// hesitant is a set whose server answers after a while.
type hesitant struct {
	*fakeTool
	refusals int
}

func (s *hesitant) Tools(context.Context) ([]local.Tool, error) {
	if s.refusals--; s.refusals >= 0 {
		return nil, &local.Error{Kind: local.Transient, Code: "mcp_unavailable"}
	}
	return nil, nil
}

func (s *hesitant) Find(string) local.Tool { return nil }

// Permanent failures are the request's own: another model is not asked.
func TestAPermanentFailureHasNoFallback(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &provider{flaws: map[string]int{"a": 1}, err: &local.Error{Kind: local.Permanent, Code: "unauthorized", Message: "no"}}
		definition, kit := fallingBack(p, "a", "b")
		w := newWorld(t, definition, kit, nil)
		row := w.drive()
		require.Equal(t, "unauthorized", row.Failure.Code)
		require.Equal(t, []string{"a"}, p.asked)
	})
}

// Case B10: one function says how many attempts are left. When every model of the list fails, the list begins again after
// a back-off, five times in all, and a resume gives it all of them anew.
func TestCaseB10_RoundsOfFallbackAreTheAttempts(t *testing.T) {
	t.Parallel()
	for _, names := range [][]string{{"a"}, {"a", "b"}, {"a", "b", "c"}} {
		synctest.Test(t, func(t *testing.T) {
			flaws := map[string]int{}
			for _, name := range names {
				flaws[name] = 10
			}
			p := &provider{flaws: flaws, err: errOverloaded}
			definition, kit := fallingBack(p, names...)
			w := newWorld(t, definition, kit, nil)
			for range 2 {
				p.asked = nil
				row := w.drive()
				require.Equal(t, execution.Suspended, row.State)
				require.Equal(t, execution.ReasonRetriesExhausted, row.Suspension.Reason)
				require.Equal(t, slices.Repeat(names, maxAttempts), p.asked)
				change, err := w.store.Resume(t.Context(), w.id, journal.Resumption{})
				require.NoError(t, err)
				require.NoError(t, w.queue.Enqueue(t.Context(), change.Tasks...))
			}
			require.Equal(t, execution.Completed, w.drive().State)
		})
	}
}

// Whatever dies and however often, the models are asked in the list's order, and nobody forgets who has failed: a model is
// asked again before its turn only because a worker died with its request in flight.
func TestTheOrderOfTheListSurvivesCrashes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		names := []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(rt, "models")]
		flaws := map[string]int{}
		for _, name := range names {
			flaws[name] = rapid.IntRange(0, 3).Draw(rt, "flaws of "+name)
		}
		deaths := rapid.SliceOfN(rapid.IntRange(1, 6), 0, 5).Draw(rt, "deaths")
		var row journal.Execution
		p := &provider{flaws: flaws, err: errOverloaded}
		synctest.Test(t, func(t *testing.T) {
			definition, kit := fallingBack(p, names...)
			w := newWorld(t, definition, kit, nil)
			born := func() {
				l := &life{}
				if len(deaths) > 0 {
					l.death, deaths = &death{calls: deaths[0]}, deaths[1:]
				}
				w.durable = w.worker(kit, func(c *Config) {
					c.Store = &flaky{Store: c.Store, before: func(string) error { return l.step(true) }}
					c.MaxReclaims = 1000
				})
			}
			born()
			for range 500 {
				if row = w.row(); row.State.Terminal() || row.State == execution.Suspended {
					return
				}
				task, ok := w.queue.pop()
				if !ok {
					w.pass()
					w.sweep()
					born()
					continue
				}
				var back *execution.PutBack
				if err := w.durable.Run(t.Context(), task); errors.As(err, &back) {
					w.pass()
				}
			}
		})
		require.Equal(rt, execution.Completed, row.State)
		asked := slices.CompactFunc(slices.Clone(p.asked), func(a, b string) bool { return len(names) > 1 && a == b })
		for i, name := range asked {
			require.Equal(rt, names[i%len(names)], name, "%v", p.asked)
		}
		require.GreaterOrEqual(rt, row.Usage.Requests, int64(len(p.asked)), "every request is charged")
	})
}

// A model whose provider wants to be left alone is passed over while another one of the list is free.
func TestAParkedModelIsPassedOver(t *testing.T) {
	t.Parallel()
	ask := func(parked map[string]time.Duration, flaws map[string]int, change func(*situation)) (advance, *provider) {
		p := &provider{flaws: flaws, err: errOverloaded}
		definition, kit := fallingBack(p, "a", "b")
		s := at(BeforeModelRequest, func(s *situation) {
			s.definition, s.kit = definition, kit
			if change != nil {
				change(s)
			}
		})
		a, err := newMachine(s, &fakeEnv{now: 1000, parked: parked}).run(t.Context())
		require.NoError(t, err)
		return a, p
	}
	laneA, laneB := laneOf(priced("a")), laneOf(priced("b"))

	a, p := ask(map[string]time.Duration{laneA: time.Minute}, nil, nil)
	require.Equal(t, ModelResponse, a.node)
	require.Equal(t, []string{"b"}, p.asked)

	a, p = ask(map[string]time.Duration{laneA: time.Minute, laneB: time.Hour}, nil, nil)
	require.Empty(t, p.asked)
	require.Equal(t, BeforeModelRequest, a.node)
	require.Equal(t, journal.Then{Kind: journal.ThenPark, WaitKind: execution.WaitRetry, Wait: time.Minute}, a.then)
	require.Zero(t, a.state.Usage.Requests, "waiting costs nothing")

	a, p = ask(map[string]time.Duration{laneA: time.Minute}, map[string]int{"b": 1}, nil)
	require.Equal(t, []string{"b"}, p.asked)
	require.Equal(t, journal.ThenPark, a.then.Kind, "the round is over")
	require.Equal(t, 2, a.state.ModelFailures)

	a, _ = ask(map[string]time.Duration{laneB: time.Hour}, map[string]int{"a": 1}, nil)
	require.Equal(t, journal.ThenContinue, a.then.Kind)
	require.Equal(t, 1, a.state.ModelFailures, "the next one is the parked one's turn")
}
