package executor

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// hanging is a model that says when it was asked and returns when its context ends.
func hanging() (fakeModel, <-chan struct{}, *atomic.Pointer[error]) {
	asked := make(chan struct{}, 16)
	cause := &atomic.Pointer[error]{}
	return func(ctx context.Context, _ local.ModelRequest) (local.ModelResponse, error) {
		asked <- struct{}{}
		<-ctx.Done()
		why := context.Cause(ctx)
		cause.Store(&why)
		return local.ModelResponse{}, ctx.Err()
	}, asked, cause
}

// start runs the next task in the background; the channel gives its answer.
func (w *world) start() <-chan error {
	w.t.Helper()
	task, ok := w.queue.pop()
	require.True(w.t, ok)
	done := make(chan error, 1)
	go func() { done <- w.durable.Run(w.t.Context(), task) }()
	return done
}

// Case D4: a cancel needs no opt-in and closes the request in flight within a second.
func TestCaseD4_CancelClosesTheRequestInFlight(t *testing.T) {
	t.Parallel()
	for name, listens := range map[string]bool{"by the store's message": true, "by reading the flags": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				model, asked, cause := hanging()
				w := newWorld(t, &agent.Definition{}, &local.Kit{Model: model}, func(c *Config) {
					if !listens {
						c.Store = deaf{c.Store}
					}
				})
				ctx, stop := context.WithCancel(t.Context())
				watched := make(chan error, 1)
				go func() { watched <- w.durable.Watch(ctx) }()
				w.to(BeforeModelRequest)
				done := w.start()
				<-asked
				began := time.Now()
				change, err := w.store.Cancel(t.Context(), w.id)
				require.NoError(t, err)
				require.True(t, change.Pending)
				require.NoError(t, <-done)
				require.Less(t, time.Since(began), time.Second)
				require.ErrorIs(t, *cause.Load(), ErrUserCancel)
				row := w.row()
				require.Equal(t, execution.Canceled, row.State)
				require.Equal(t, int64(1), row.Usage.Requests, "the closed request is charged")
				types := w.types()
				require.Equal(t, execution.TypeExecutionCanceled, types[len(types)-1])
				stop()
				require.ErrorIs(t, <-watched, context.Canceled)
			})
		})
	}
}

// deaf is a store whose messages do not arrive.
type deaf struct{ Store }

func (deaf) FollowRequests(context.Context, journal.WorkerID) (journal.RequestSubscription, error) {
	return nil, errors.New("no subscription")
}

func TestCancelIsSeenByTheRenewal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		model, asked, _ := hanging()
		w := newWorld(t, &agent.Definition{}, &local.Kit{Model: model}, nil)
		w.to(BeforeModelRequest)
		done := w.start()
		<-asked
		_, err := w.store.Cancel(t.Context(), w.id)
		require.NoError(t, err)
		require.NoError(t, <-done, "without a watcher the next renewal ends the node")
		require.Equal(t, execution.Canceled, w.row().State)
	})
}

func TestCancelKeepsWhatWasFinished(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &agent.Definition{}, nil, func(c *Config) {
			c.Builder = kits{kit: &local.Kit{Model: fakeModel(
				func(ctx context.Context, _ local.ModelRequest) (local.ModelResponse, error) {
					<-ctx.Done()
					return text("just in time"), nil
				})}}
		})
		w.to(BeforeModelRequest)
		done := w.start()
		synctest.Wait()
		_, err := w.store.Cancel(t.Context(), w.id)
		require.NoError(t, err)
		require.NoError(t, <-done)
		require.Equal(t, execution.Canceled, w.row().State)
		require.Equal(t, string(ModelResponse), w.row().Node, "the commit keeps its results and ends the row")
	})
}

func TestCancelBeforeTheSendStopsAnUnsafeCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kit := &local.Kit{Model: script(calling("pay")), Tools: []local.Tool{tool("pay", agent.Unsafe, never(t))}}
		store := &flaky{}
		w := newWorld(t, &agent.Definition{}, kit, func(c *Config) { store.Store, c.Store = c.Store, store })
		w.to(ToolCall)
		store.refuse(func(method string) error {
			if method == "record" {
				_, err := w.store.Cancel(t.Context(), w.id)
				require.NoError(t, err)
				store.refuse(nil)
			}
			return nil
		})
		require.NoError(t, w.next())
		require.Equal(t, execution.Canceled, w.row().State)
	})
}

func TestPauseTakesEffectAfterTheNodeInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		kit := &local.Kit{Model: fakeModel(func(context.Context, local.ModelRequest) (local.ModelResponse, error) {
			<-release
			return text("hi"), nil
		})}
		w := newWorld(t, &agent.Definition{}, kit, nil)
		w.to(BeforeModelRequest)
		done := w.start()
		synctest.Wait()
		_, err := w.store.Pause(t.Context(), w.id)
		require.NoError(t, err)
		<-time.After(20 * time.Second)
		close(release)
		require.NoError(t, <-done)
		require.Equal(t, execution.Suspended, w.row().State)
		require.Equal(t, string(ModelResponse), w.row().Node)
	})
}

// Case A18: a claim bounds silence, not run time: a renewed node may take hours.
func TestCaseA18_ARenewedClaimOutlivesItsTTL(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kit := &local.Kit{Model: fakeModel(func(ctx context.Context, _ local.ModelRequest) (local.ModelResponse, error) {
			select {
			case <-time.After(3 * time.Hour):
				return text("done"), nil
			case <-ctx.Done():
				return local.ModelResponse{}, ctx.Err()
			}
		})}
		w := newWorld(t, &agent.Definition{}, kit, nil)
		w.to(BeforeModelRequest)
		done := w.start()
		synctest.Wait()
		for range 100 {
			<-time.After(time.Minute)
			w.sweep()
		}
		require.NoError(t, <-done)
		require.Equal(t, execution.Completed, w.drive().State)
		require.NotContains(t, w.types(), execution.TypeWarning, "no reclaim")
	})
}

// Cases B1 and A20: whoever was superseded stops at once and writes nothing.
func TestCaseB1_SupersededHolderStopsAndWritesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		model, asked, cause := hanging()
		frozen := &flaky{}
		w := newWorld(t, &agent.Definition{}, &local.Kit{Model: model}, func(c *Config) { frozen.Store, c.Store = c.Store, frozen })
		w.to(BeforeModelRequest)
		done := w.start()
		<-asked
		frozen.refuse(func(string) error { return journal.ErrUnavailable }) // as a stopped process: nothing arrives
		<-time.After(16 * time.Second)
		w.sweep()
		frozen.refuse(nil)
		first := w.durable
		w.durable = w.worker(&local.Kit{Model: script(text("from the second"))}, nil)
		require.NoError(t, w.next())
		dump := w.dump()
		require.NoError(t, <-done, "the first holder's release is refused")
		require.ErrorIs(t, *cause.Load(), ErrTrustEnded, "it had stopped before its claim ran out")
		require.Equal(t, dump, w.dump())
		require.Empty(t, first.holding(""))
		require.Equal(t, execution.Completed, w.drive().State)
		require.Equal(t, 1, countOf(w.types(), execution.TypeWarning), "one reclaim")
	})
}

func TestSupersededHolderIsToldByTheFlags(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		model, asked, cause := hanging()
		store := &flaky{}
		w := newWorld(t, &agent.Definition{}, &local.Kit{Model: model}, func(c *Config) { store.Store, c.Store = c.Store, store })
		store.refuse(func(method string) error {
			if method == "renew" {
				return journal.ErrFenced
			}
			return nil
		})
		w.to(BeforeModelRequest)
		done := w.start()
		<-asked
		dump := w.dump()
		require.NoError(t, <-done)
		require.ErrorIs(t, *cause.Load(), ErrFenced)
		require.Equal(t, dump, w.dump())
	})
}

func TestTrustEndsBeforeTheClaimAndTheReleaseCountsNoReclaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		model, asked, cause := hanging()
		store := &flaky{}
		w := newWorld(t, &agent.Definition{}, &local.Kit{Model: model}, func(c *Config) { store.Store, c.Store = c.Store, store })
		w.to(BeforeModelRequest)
		done := w.start()
		<-asked
		began := time.Now()
		var stopped atomic.Int64
		store.refuse(func(string) error {
			if cause.Load() != nil && stopped.Load() == 0 {
				stopped.Store(int64(time.Since(began)))
			}
			if time.Since(began) < 40*time.Second {
				return journal.ErrUnavailable
			}
			return nil
		})
		require.NoError(t, <-done)
		require.ErrorIs(t, *cause.Load(), ErrTrustEnded)
		require.LessOrEqual(t, time.Duration(stopped.Load()), 12*time.Second+500*time.Millisecond, "TTL less a fifth")
		row := w.row()
		require.Nil(t, row.Claim)
		require.Zero(t, row.Reclaims)
		_, standing := w.queue.pop()
		require.True(t, standing, "the step is runnable at once")
	})
}

func TestLostRepliesChangeNothing(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"claim", "record", "commit", "release", "renew"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				once := map[string]bool{}
				kit := &local.Kit{Model: script(calling("pay", "flop", "slow"), text("ok")), Tools: []local.Tool{
					tool("pay", agent.Unsafe, says("paid")),
					tool("flop", agent.ReadOnly, func(ctx context.Context, call local.Invocation) (local.Answer, error) {
						if !once["flop"] {
							once["flop"] = true
							return local.Answer{}, &local.Error{Kind: local.Transient, Code: "busy"}
						}
						return says("ok")(ctx, call)
					}),
					tool("slow", agent.Idempotent, func(ctx context.Context, call local.Invocation) (local.Answer, error) {
						select {
						case <-time.After(20 * time.Second):
							return says("ok")(ctx, call)
						case <-ctx.Done():
							return local.Answer{}, ctx.Err()
						}
					}),
				}}
				store := &flaky{}
				w := newWorld(t, &agent.Definition{}, kit, func(c *Config) { store.Store, c.Store = c.Store, store })
				lost := 0
				store.after = func(called string) error {
					if called == method {
						lost++
						if lost%2 == 1 {
							return journal.ErrUnavailable
						}
					}
					return nil
				}
				require.Equal(t, execution.Completed, w.drive().State)
				require.Positive(t, lost)
				require.Equal(t, []Node{
					RunStart, PrepareModelRequest, BeforeModelRequest, ModelResponse, ToolCall, ToolReturn,
					PrepareModelRequest, BeforeModelRequest, ModelResponse, ValidateOutput, RunComplete,
				}, w.nodes())
				require.Equal(t, 3, countOf(w.types(), execution.TypeToolCompleted))
				require.Equal(t, int64(3), w.row().Usage.ToolCalls)
				require.NotContains(t, w.types(), execution.TypeWarning, "no reclaim")
			})
		})
	}
}

func TestCommitOutlivesAShortOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &flaky{}
		w := newWorld(t, &agent.Definition{}, &local.Kit{Model: script(text("paid for"))},
			func(c *Config) { store.Store, c.Store = c.Store, store })
		w.to(BeforeModelRequest)
		began := time.Now()
		store.refuse(func(method string) error {
			if method != "claim" && time.Since(began) < 14*time.Second {
				return journal.ErrUnavailable
			}
			return nil
		})
		require.NoError(t, w.next())
		require.Equal(t, string(ModelResponse), w.row().Node)
		require.Equal(t, int64(1), w.row().Usage.Requests, "the response was not lost")
	})
}

func TestCaseA10_OutageWithoutEndIsAnErrorOfTheTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &flaky{}
		w := newWorld(t, &agent.Definition{}, &local.Kit{Model: script(text("hi"))},
			func(c *Config) { store.Store, c.Store = c.Store, store })
		store.refuse(func(method string) error {
			if method != "claim" {
				return journal.ErrUnavailable
			}
			return nil
		})
		require.ErrorIs(t, w.next(), journal.ErrUnavailable)
		store.refuse(nil)
		require.Equal(t, execution.Completed, w.drive().State, "case A10: the due index finds it")
	})
}
