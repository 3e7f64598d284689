package executor

import (
	"context"
	"errors"
	"strings"
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

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	good := Config{Store: &flaky{}, Builder: kits{}, Enqueuer: &tasks{}}
	d, err := NewDurable(good)
	require.NoError(t, err)
	require.Equal(t, 15*time.Second, d.cfg.ClaimTTL)
	require.Equal(t, 5, d.cfg.MaxReclaims)
	require.Equal(t, 30*time.Second, d.cfg.DrainTimeout)
	for field, change := range map[string]func(*Config){
		"Store":        func(c *Config) { c.Store = nil },
		"Builder":      func(c *Config) { c.Builder = nil },
		"Enqueuer":     func(c *Config) { c.Enqueuer = nil },
		"ClaimTTL":     func(c *Config) { c.ClaimTTL = time.Millisecond },
		"DrainTimeout": func(c *Config) { c.DrainTimeout = -1 },
		"NodesPerTask": func(c *Config) { c.NodesPerTask = MaxNodesPerTask + 1 },
	} {
		bad := good
		change(&bad)
		_, err := NewDurable(bad)
		require.ErrorContains(t, err, field)
	}
	_, err = NewDirect(DirectConfig{})
	require.ErrorContains(t, err, "Builder")
}

// Case A11: the owner of a claim is random per start, so nobody takes over what another one recovered.
func TestCaseA11_WorkersAreRandomPerStart(t *testing.T) {
	t.Parallel()
	one, err := NewDurable(Config{Store: &flaky{}, Builder: kits{}, Enqueuer: &tasks{}})
	require.NoError(t, err)
	two, err := NewDurable(Config{Store: &flaky{}, Builder: kits{}, Enqueuer: &tasks{}})
	require.NoError(t, err)
	require.NotEqual(t, one.Worker(), two.Worker())
}

func TestGoldenOrderOfATextAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &agent.Definition{}, &local.Kit{Model: script(text("Booked."))}, nil)
		row := w.drive()
		require.Equal(t, execution.Completed, row.State)
		require.Equal(t, &execution.Outcome{Answer: "Booked."}, row.Outcome)
		require.Equal(t, []Node{
			RunStart, PrepareModelRequest, BeforeModelRequest, ModelResponse, ValidateOutput, RunComplete,
		}, w.nodes())
		require.Equal(t, []execution.EventType{
			execution.TypeExecutionQueued, execution.TypeExecutionStarted, execution.TypeModelStarted,
			execution.TypeModelCompleted, execution.TypeExecutionCompleted,
		}, w.types())
		require.Equal(t, int64(1), row.Usage.Requests)
		last := w.checkpoints()[5]
		require.Equal(t, StatusCompleted, last.State.Status)
		require.Equal(t, 2, last.Resume.Cursor.MessageCursor)
		require.Equal(t, execution.Sequence(4), *last.Resume.Cursor.StreamCursor)
		_, standing := w.queue.pop()
		require.False(t, standing, "no task follows a terminal commit")
	})
}

func TestMainJobWithToolsAndAQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kit := &local.Kit{Model: script(calling("lookup", "confirm"), text("Booked.")), Tools: []local.Tool{
			tool("lookup", agent.Idempotent, says("rain")),
			tool("confirm", agent.ReadOnly, asks(local.Question{Kind: execution.Elicitation, Prompt: "Book it?"})),
		}}
		w := newWorld(t, &agent.Definition{}, kit, nil)
		row := w.drive()
		require.Equal(t, execution.WaitingForInput, row.State)
		require.Equal(t, execution.Step(5), row.Step)
		require.Nil(t, row.Claim, "a wait holds no worker")
		require.Equal(t, int64(1), row.Usage.ToolCalls)
		w.answer(execution.Input{Type: execution.ElicitationResponse, Text: "yes"})
		row = w.drive()
		require.Equal(t, execution.Completed, row.State)
		require.Equal(t, []Node{
			RunStart, PrepareModelRequest, BeforeModelRequest, ModelResponse, ToolCall, ToolReturn,
			PrepareModelRequest, BeforeModelRequest, ModelResponse, ValidateOutput, RunComplete,
		}, w.nodes())
		require.Equal(t, []execution.EventType{
			execution.TypeExecutionQueued, execution.TypeExecutionStarted, execution.TypeModelStarted,
			execution.TypeModelCompleted, execution.TypeToolStarted, execution.TypeToolStarted, execution.TypeToolCompleted,
			execution.TypeInteractionRequired, execution.TypeInteractionReceived, execution.TypeToolCompleted,
			execution.TypeModelStarted, execution.TypeModelCompleted, execution.TypeExecutionCompleted,
		}, w.types())
		history := w.history()
		require.Len(t, history, 5)
		require.Equal(t, `"rain"`, string(history[2].ToolResult.Content))
		require.Equal(t, `"yes"`, string(history[3].ToolResult.Content))
	})
}

func TestEachKindOfFailureEndsTheExecution(t *testing.T) {
	t.Parallel()
	denied := &local.Error{Kind: local.Permanent, Code: "unauthorized", Message: "no"}
	for code, c := range map[string]struct {
		definition agent.Definition
		kit        local.Kit
	}{
		"unauthorized": {kit: local.Kit{Model: fakeModel(
			func(context.Context, local.ModelRequest) (local.ModelResponse, error) {
				return local.ModelResponse{}, denied
			})}},
		execution.CodeUsageLimitExceeded: {
			definition: agent.Definition{Limits: execution.Limits{MaxModelRequests: 1}},
			kit:        local.Kit{Model: script(calling("a")), Tools: []local.Tool{tool("a", agent.ReadOnly, says("x"))}},
		},
		execution.CodeDeadlineExceeded: {
			definition: agent.Definition{Limits: execution.Limits{Deadline: time.Minute}},
			kit: local.Kit{Model: fakeModel(func(ctx context.Context, _ local.ModelRequest) (local.ModelResponse, error) {
				<-ctx.Done()
				return local.ModelResponse{}, ctx.Err()
			})},
		},
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, &c.definition, &c.kit, nil)
				row := w.drive()
				require.Equal(t, execution.Failed, row.State)
				require.Equal(t, code, row.Failure.Code)
				types := w.types()
				require.Equal(t, execution.TypeExecutionFailed, types[len(types)-1])
				nodes := w.nodes()
				require.Equal(t, RunFailed, nodes[len(nodes)-1], "contract A: run_failed is really emitted")
			})
		})
	}
}

func TestLimitSuspendsWhenTheAgentSaysSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kit := &local.Kit{Model: script(calling("a")), Tools: []local.Tool{tool("a", agent.ReadOnly, says("x"))}}
		w := newWorld(t, &agent.Definition{Limits: execution.Limits{MaxTurns: 1, SuspendOnExceeded: true}}, kit, nil)
		row := w.drive()
		require.Equal(t, execution.Suspended, row.State)
		require.Equal(t, execution.ReasonLimit, row.Suspension.Reason)
		require.Contains(t, row.Suspension.Detail, "maxTurns")
		require.Equal(t, string(ToolReturn), row.Node, "it stands where it stood")
	})
}

// Case J1: attempts live in the journal, their back-off is real and random, and what they cost is charged.
func TestCaseJ1_TransientErrorsAreTriedFiveTimesThenSuspend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var requests atomic.Int64
		kit := &local.Kit{Model: fakeModel(func(_ context.Context, r local.ModelRequest) (local.ModelResponse, error) {
			require.Equal(t, requests.Add(1)-1, int64(r.Attempt))
			return local.ModelResponse{}, &local.Error{Kind: local.Transient, Code: "rate_limited", RetryAfter: 10 * time.Second}
		})}
		w := newWorld(t, &agent.Definition{}, kit, nil)
		began := time.Now()
		row := w.drive()
		require.Equal(t, execution.Suspended, row.State)
		require.Equal(t, execution.ReasonRetriesExhausted, row.Suspension.Reason)
		require.Equal(t, int64(5), requests.Load())
		require.Equal(t, int64(5), row.Usage.Requests)
		require.Greater(t, time.Since(began), 40*time.Second, "never before Retry-After")
		retries := 0
		for _, event := range w.events() {
			if retry, ok := event.Payload.(*execution.RetryScheduled); ok {
				retries++
				require.Equal(t, retries, retry.Attempt)
				require.Greater(t, retry.AtMs-event.OccurredAtMs, int64(10_000))
			}
		}
		require.Equal(t, 4, retries)

		kit.Model = script(text("at last"))
		change, err := w.store.Resume(t.Context(), w.id, journal.Resumption{})
		require.NoError(t, err)
		require.NoError(t, w.queue.Enqueue(t.Context(), change.Tasks...))
		w.durable = w.worker(kit, nil)
		require.Equal(t, execution.Completed, w.drive().State, "a resume goes on from the same checkpoint")
		require.Equal(t, 1, countOf(w.types(), execution.TypeModelStarted), "no second started event")
	})
}

func countOf(types []execution.EventType, want execution.EventType) int {
	n := 0
	for _, one := range types {
		if one == want {
			n++
		}
	}
	return n
}

func TestUnsafeCallThatWasRefusedIsSentAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var effects []string
		kit := &local.Kit{Model: script(calling("pay"), text("paid")), Tools: []local.Tool{tool("pay", agent.Unsafe,
			func(ctx context.Context, call local.Invocation) (local.Answer, error) {
				effects = append(effects, call.EffectID)
				if len(effects) == 1 {
					return local.Answer{}, &local.Error{Kind: local.Transient, Code: "unavailable"}
				}
				return says("ok")(ctx, call)
			})}}
		w := newWorld(t, &agent.Definition{}, kit, nil)
		require.Equal(t, execution.Completed, w.drive().State, "a 503 is no unknown outcome")
		require.Len(t, effects, 2)
		require.Equal(t, effects[0], effects[1])
	})
}

func TestUnknownDefinitionSuspends(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Config){
		"it cannot be built here": func(c *Config) { c.Builder = kits{err: errors.New("no such provider")} },
		"it is not stored":        func(c *Config) { c.Store = withDefinition{c.Store, nil, journal.ErrNotFound} },
		"it cannot be read": func(c *Config) {
			c.Store = withDefinition{c.Store, []byte(`{"name":"demo","model":7}`), nil}
		},
	} {
		t.Run("cases A14 and A17: "+name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, &agent.Definition{}, &local.Kit{Model: script(text("hi"))}, change)
				row := w.drive()
				require.Equal(t, execution.Suspended, row.State)
				require.Equal(t, execution.ReasonUnknownDefinition, row.Suspension.Reason)
				require.True(t, strings.HasPrefix(row.Suspension.Detail, "definition "+row.Definition+": "), row.Suspension.Detail)
				require.Equal(t, 1, strings.Count(row.Suspension.Detail, "definition "+row.Definition))
				require.NotContains(t, row.Suspension.Detail, "unknown definition", "its reason says that")

				w.durable = w.worker(&local.Kit{Model: script(text("hi"))}, nil)
				resumed, err := w.store.Resume(t.Context(), w.id, journal.Resumption{})
				require.NoError(t, err)
				require.NoError(t, w.queue.Enqueue(t.Context(), resumed.Tasks...))
				require.Equal(t, execution.Completed, w.drive().State)
			})
		})
	}
}

type withDefinition struct {
	Store
	data []byte
	err  error
}

func (s withDefinition) Definition(context.Context, string) ([]byte, error) { return s.data, s.err }

func TestHookSuspendsBehindTheBoundary(t *testing.T) {
	t.Parallel()
	for _, node := range []Node{RunStart, PrepareModelRequest, ModelResponse, ToolReturn, ValidateOutput} {
		t.Run("contract A: "+string(node)+" is persisted first and resumed behind", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				seen := map[Node]int{}
				hook := hookFunc(func(_ context.Context, c Checkpoint) (Decision, error) {
					require.NotEmpty(t, c.ExecutionID)
					require.NotEmpty(t, c.ConversationID)
					seen[c.Node]++
					if c.Node == node && seen[node] == 1 {
						return Suspend("review"), nil
					}
					return Continue(), nil
				})
				kit := &local.Kit{Model: script(calling("ask"), text("done")), Tools: []local.Tool{
					tool("ask", agent.ReadOnly, asks(local.Question{Kind: execution.Elicitation, Prompt: "?"})),
				}}
				w := newWorld(t, &agent.Definition{}, kit, func(c *Config) { c.Hook = hook })
				row := w.drive()
				if node == ValidateOutput {
					w.answer(execution.Input{Type: execution.ElicitationResponse, Text: "yes"})
					row = w.drive()
				}
				require.Equal(t, execution.Suspended, row.State)
				require.Equal(t, execution.Suspension{Reason: execution.ReasonPolicy, Detail: "review"}, *row.Suspension)
				require.Equal(t, string(node), row.Node)
				resumed, err := w.store.Resume(t.Context(), w.id, journal.Resumption{})
				require.NoError(t, err)
				require.NoError(t, w.queue.Enqueue(t.Context(), resumed.Tasks...))
				if node != ValidateOutput {
					require.Equal(t, execution.WaitingForInput, w.drive().State)
					w.answer(execution.Input{Type: execution.ElicitationResponse, Text: "yes"})
				}
				require.Equal(t, execution.Completed, w.drive().State)
				require.Equal(t, 1, seen[RunStart])
				require.Equal(t, 1, seen[RunComplete])
			})
		})
	}
}

func TestFailingHookDoesNotPassTheBoundary(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var failed bool
		hook := hookFunc(func(_ context.Context, c Checkpoint) (Decision, error) {
			if c.Node == ModelResponse && !failed {
				failed = true
				return Continue(), errors.New("disk full")
			}
			return Continue(), nil
		})
		w := newWorld(t, &agent.Definition{}, &local.Kit{Model: script(text("hi"))}, func(c *Config) { c.Hook = hook })
		require.Equal(t, execution.Completed, w.drive().State)
		require.Equal(t, 1, countOf(w.types(), execution.TypeRetryScheduled))
		require.Equal(t, int64(2), w.row().Usage.Requests, "what the attempt cost is kept")
	})
}

func TestPanickingNodeIsOnlyItsOwnFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kit := &local.Kit{Model: script(text("hi"))} // a tool whose spec panics breaks the node itself
		kit.Tools = []local.Tool{brokenTool{}}
		w := newWorld(t, &agent.Definition{}, kit, nil)
		row := w.drive()
		require.Equal(t, execution.Suspended, row.State)
		require.Equal(t, execution.ReasonRetriesExhausted, row.Suspension.Reason)
		require.Contains(t, row.Suspension.Detail, "panic")
	})
}

type brokenTool struct{ local.Tool }

func (brokenTool) Spec() local.ToolSpec { panic("no spec") }

func TestFullLogFailsTheExecution(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		full := &flaky{}
		w := newWorld(t, &agent.Definition{}, &local.Kit{Model: script(text("hi"))}, func(c *Config) {
			full.Store = c.Store
			c.Store = full
		})
		refused := 0
		full.refuse(func(method string) error {
			if method == "commit" && refused == 0 {
				refused++
				return journal.ErrLimit
			}
			return nil
		})
		row := w.drive()
		require.Equal(t, execution.Failed, row.State)
		require.Equal(t, execution.CodeEventLimitExceeded, row.Failure.Code)
	})
}
