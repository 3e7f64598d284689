package executor

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// hooked is a world of one text answer whose boundaries of a node are decided by a function, which gets the number of the
// call.
func hooked(t *testing.T, node Node, decide func(ctx context.Context, call int) (Decision, error)) (w *world, calls *int) {
	t.Helper()
	calls = new(int)
	hook := hookFunc(func(ctx context.Context, c Checkpoint) (Decision, error) {
		if c.Node != node {
			return Continue(), nil
		}
		*calls++
		return decide(ctx, *calls)
	})
	return newWorld(t, &agent.Definition{}, &local.Kit{Model: script(text("hi"))}, func(c *Config) { c.Hook = hook }), calls
}

func (w *world) resume() {
	w.t.Helper()
	change, err := w.store.Resume(w.t.Context(), w.id, journal.Resumption{})
	require.NoError(w.t, err)
	require.NoError(w.t, w.queue.Enqueue(w.t.Context(), change.Tasks...))
}

// A hook's failure waits for its next try and is counted, also when it looks like that of the journal.
func TestAHookFailsForWhateverReason(t *testing.T) {
	t.Parallel()
	for name, failing := range map[string]func(ctx context.Context) (Decision, error){
		"its store's deadline":  func(context.Context) (Decision, error) { return Decision{}, context.DeadlineExceeded },
		"a request is canceled": func(context.Context) (Decision, error) { return Decision{}, context.Canceled },
		"its journal is away":   func(context.Context) (Decision, error) { return Decision{}, journal.ErrUnavailable },
		"a panic":               func(context.Context) (Decision, error) { panic("no policy") },
		"it never answers": func(ctx context.Context) (Decision, error) {
			<-ctx.Done()
			return Decision{}, ctx.Err()
		},
	} {
		for _, node := range []Node{RunStart, PrepareModelRequest, ModelResponse, RunComplete} {
			t.Run(name+" at "+string(node), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					w, calls := hooked(t, node, func(ctx context.Context, call int) (Decision, error) {
						if call < maxAttempts {
							return failing(ctx)
						}
						return Continue(), nil
					})
					require.Equal(t, execution.Completed, w.drive().State)
					require.Equal(t, maxAttempts, *calls)
					require.Equal(t, maxAttempts-1, countOf(w.types(), execution.TypeRetryScheduled))
				})
			})
		}
	}
}

func TestAHookThatFailedAtTheOpeningIsAskedAgainAfterAResume(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, calls := hooked(t, RunStart, func(_ context.Context, call int) (Decision, error) {
			if call <= maxAttempts {
				return Decision{}, errors.New("away")
			}
			return Suspend("review"), nil
		})
		require.Equal(t, execution.ReasonRetriesExhausted, w.drive().Suspension.Reason)
		w.resume()
		require.Equal(t, execution.ReasonPolicy, w.drive().Suspension.Reason, "a boundary whose call fails is not passed")
		require.Equal(t, maxAttempts+1, *calls)
		w.resume()
		require.Equal(t, execution.Completed, w.drive().State)
		require.Equal(t, maxAttempts+1, *calls, "its decision is carried out once")
	})
}

func TestAHookIsAskedAboutAnOpeningThatSomebodyPaused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, calls := hooked(t, RunStart, func(context.Context, int) (Decision, error) { return Suspend("review"), nil })
		for range 2 {
			_, err := w.store.Pause(t.Context(), w.id)
			require.NoError(t, err)
			w.resume()
		}
		row := w.drive()
		require.Equal(t, &execution.Suspension{Reason: execution.ReasonPolicy, Detail: "review"}, row.Suspension)
		require.Equal(t, 1, *calls)
		w.resume()
		require.Equal(t, execution.Completed, w.drive().State)
		require.Equal(t, 1, *calls)
	})
}

// A worker that claims an execution whose deadline has passed fails it, however much it has to read first.
func TestAnOverdueExecutionFailsOnAWorkerThatKnowsNothingOfIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kit := &local.Kit{Model: script(text("hi"))}
		claims := 0
		w := newWorld(t, &agent.Definition{Limits: execution.Limits{Deadline: time.Second}}, kit, nil)
		w.to(PrepareModelRequest)
		<-time.After(2 * time.Second)
		w.durable = w.worker(kit, func(c *Config) {
			c.Store = slowDefinition{&flaky{Store: c.Store, before: func(method string) error {
				if method == "claim" {
					claims++
				}
				return nil
			}}}
		})
		row := w.drive()
		require.Equal(t, execution.CodeDeadlineExceeded, row.Failure.Code)
		require.Equal(t, 1, claims)
	})
}

// slowDefinition takes a while to read a definition, unless its context ends.
type slowDefinition struct{ Store }

func (s slowDefinition) Definition(ctx context.Context, hash string) ([]byte, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(100 * time.Millisecond):
		return s.Store.Definition(ctx, hash)
	}
}

type brokenBuilder struct{}

func (brokenBuilder) Build(context.Context, *agent.Definition) (*local.Kit, error) { panic("no kit") }

func TestAPanickingBuilderIsOnlyItsExecutionsFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &agent.Definition{}, nil, func(c *Config) { c.Builder = brokenBuilder{} })
		row := w.drive()
		require.Equal(t, execution.ReasonRetriesExhausted, row.Suspension.Reason)
		require.Contains(t, row.Suspension.Detail, "no kit")
	})
}
