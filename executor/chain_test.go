package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/journal/memjournal"
)

// watched is a world with eight nodes per task, a model that calls a tool and then answers, and a hook; it counts requests.
func watched(t *testing.T, hook func(w *world, c Checkpoint) (Decision, error)) (w *world, c *calls, requests *int) {
	t.Helper()
	requests = new(int)
	kit := &local.Kit{
		Model: fakeModel(func(ctx context.Context, request local.ModelRequest) (local.ModelResponse, error) {
			*requests++
			return script(calling("look"), text("done"))(ctx, request)
		}),
		Tools: []local.Tool{tool("look", agent.ReadOnly, says("seen"))},
	}
	w = newWorld(t, &agent.Definition{}, kit, nil)
	c = &calls{n: map[string]int{}}
	w.durable = w.worker(kit, func(cfg *Config) {
		c.Store, cfg.Store, cfg.NodesPerTask = cfg.Store, c, 8
		cfg.Hook = hookFunc(func(_ context.Context, c Checkpoint) (Decision, error) { return hook(w, c) })
	})
	return w, c, requests
}

func always(*world, Checkpoint) (Decision, error) { return Continue(), nil }

// Nothing is sent for a boundary that is not written.
func TestEveryEffectFindsItsBoundaryWritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w *world
		stands := func(node Node) { require.Equal(t, string(node), w.row().Node) }
		kit := &local.Kit{
			Model: fakeModel(func(ctx context.Context, request local.ModelRequest) (local.ModelResponse, error) {
				stands(BeforeModelRequest)
				return script(calling("look", "pay"), calling("look"), text("done"))(ctx, request)
			}),
			Tools: []local.Tool{
				tool("look", agent.ReadOnly, func(ctx context.Context, call local.Invocation) (local.Answer, error) {
					stands(ToolCall)
					return says("seen")(ctx, call)
				}),
				tool("pay", agent.Unsafe, func(ctx context.Context, call local.Invocation) (local.Answer, error) {
					stands(ToolCall)
					return says("paid")(ctx, call)
				}),
			},
		}
		w = newWorld(t, &agent.Definition{}, kit, nil)
		w.counting(kit, 64)
		require.Equal(t, execution.Completed, w.drive().State)
	})
}

// Every way through the loop leaves the same, however many nodes run under a claim.
func TestChainsLeaveWhatSingleStepsLeave(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object","required":["city"],"properties":{"city":{"type":"string"}}}`)
	kit := func(turns ...local.ModelResponse) *local.Kit {
		return &local.Kit{Model: script(turns...), Tools: []local.Tool{
			tool("look", agent.ReadOnly, says("seen")),
			tool("pay", agent.Unsafe, func(ctx context.Context, call local.Invocation) (local.Answer, error) {
				<-time.After(time.Millisecond) // its receipt is the last one of its batch
				return says("paid")(ctx, call)
			}),
			tool("human", agent.ReadOnly, asks(local.Question{Kind: execution.Elicitation, Prompt: "well?"})),
			tool("broken", agent.ReadOnly, fails(&local.Error{Kind: local.Permanent, Code: "broken", Message: "no"})),
		}}
	}
	for name, c := range map[string]struct {
		definition agent.Definition
		kit        *local.Kit
	}{
		"an answer":              {agent.Definition{}, kit(text("done"))},
		"two batches":            {agent.Definition{}, kit(calling("look", "pay"), calling("broken"), text("done"))},
		"a question":             {agent.Definition{}, kit(calling("look", "human"), text("done"))},
		"an answer of no use":    {agent.Definition{OutputSchema: schema, OutputRetries: 1}, kit(text("done"), text(`{"city":"Oslo"}`))},
		"two answers of no use":  {agent.Definition{OutputSchema: schema, OutputRetries: 1}, kit(text("done"))},
		"too many turns":         {agent.Definition{Limits: execution.Limits{MaxTurns: 2}}, kit(calling("look"))},
		"too many calls":         {agent.Definition{Limits: execution.Limits{MaxToolCalls: 1}}, kit(calling("look", "look"))},
		"too many requests":      {agent.Definition{Limits: execution.Limits{MaxModelRequests: 1}}, kit(calling("look"))},
		"a tool that is unknown": {agent.Definition{}, kit(calling("nobody"), text("done"))},
	} {
		trails := map[int]trail{}
		for _, nodes := range []int{1, 3, 64} {
			synctest.Test(t, func(t *testing.T) {
				definition := c.definition
				w := newWorld(t, &definition, c.kit, nil)
				w.counting(c.kit, nodes)
				for row := w.drive(); row.State == execution.WaitingForInput; row = w.drive() {
					w.answer(answerAll(row.PendingInteraction))
				}
				trails[nodes] = w.trail()
			})
			require.True(t, trails[nodes].state.Terminal(), name)
			require.Equal(t, trails[1], trails[nodes], "%s, %d nodes per task", name, nodes)
		}
	}
}

// A log that is full ends the execution at the same boundary.
func TestFullLogEndsAChainWhereItEndsSingleSteps(t *testing.T) {
	t.Parallel()
	for events := 4; events < 16; events++ {
		trails := map[int]trail{}
		for _, nodes := range []int{1, 64} {
			synctest.Test(t, func(t *testing.T) {
				store, err := memjournal.New(journal.Config{SweepLock: -1, MaxEvents: events})
				require.NoError(t, err)
				var lengths []int
				kit := twoTurns(&lengths)
				w := newWorldOn(t, store, func() { <-time.After(time.Second) }, &agent.Definition{}, kit, nil)
				w.counting(kit, nodes)
				require.True(t, w.drive().State.Terminal())
				trails[nodes] = w.trail()
			})
		}
		require.Equal(t, trails[1], trails[64], "room for %d events", events)
	}
}

func TestChainIsWrittenBeforeItsClaimIsHandedBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		failures := 1
		w, c, requests := watched(t, func(_ *world, c Checkpoint) (Decision, error) {
			if c.Node == ToolCall && failures > 0 {
				failures--
				return Continue(), fmt.Errorf("not now")
			}
			return Continue(), nil
		})
		require.NoError(t, w.next())
		row := w.row()
		require.Equal(t, string(ModelResponse), row.Node, "what the model answered is kept")
		require.Equal(t, 1, row.Attempts)
		require.Equal(t, 2, c.n["commit"])
		require.Equal(t, execution.Completed, w.drive().State)
		require.Equal(t, 2, *requests)
	})
}

func TestHookSuspendsAChain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, c, _ := watched(t, func(_ *world, c Checkpoint) (Decision, error) {
			if c.Node == PrepareModelRequest && c.Turn == 1 {
				return Suspend("look at it"), nil
			}
			return Continue(), nil
		})
		require.Equal(t, execution.Suspended, w.drive().State)
		require.Equal(t, string(PrepareModelRequest), w.row().Node)
		require.Equal(t, 3, c.n["commit"], "to the request, to the batch, and the batch's end with the boundary behind it")
		change, err := w.store.Resume(t.Context(), w.id, journal.Resumption{})
		require.NoError(t, err)
		require.NoError(t, w.queue.Enqueue(t.Context(), change.Tasks...))
		require.Equal(t, execution.Completed, w.drive().State)
	})
}

// Case D4: a cancel that is recorded while boundaries wait ends the execution behind all of them.
func TestCaseD4_CancelAndPauseTakeEffectBehindAChain(t *testing.T) {
	t.Parallel()
	for _, state := range []execution.State{execution.Canceled, execution.Suspended} {
		synctest.Test(t, func(t *testing.T) {
			w, _, requests := watched(t, func(w *world, c Checkpoint) (Decision, error) {
				var err error
				if c.Node == ModelResponse && state == execution.Canceled {
					_, err = w.store.Cancel(w.t.Context(), w.id)
				} else if c.Node == ModelResponse && c.Turn == 1 {
					_, err = w.store.Pause(w.t.Context(), w.id)
				}
				return Continue(), err
			})
			require.Equal(t, state, w.drive().State)
			row := w.row()
			require.Equal(t, string(ToolCall), row.Node)
			require.Len(t, w.nodes(), int(row.Step)+1)
			require.Equal(t, 1, *requests)
		})
	}
}

func TestDrainEndsATaskWithWhatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, _, _ := watched(t, func(w *world, c Checkpoint) (Decision, error) {
			if c.Node == ToolCall {
				w.durable.beginDraining()
			}
			return Continue(), nil
		})
		require.NoError(t, w.next())
		row := w.row()
		require.Equal(t, string(ToolCall), row.Node)
		require.Nil(t, row.Claim)
		_, standing := w.queue.pop()
		require.True(t, standing)
	})
}

func TestChainWhoseAnswerIsLostIsRepeated(t *testing.T) {
	t.Parallel()
	for lost := 1; lost <= 6; lost++ {
		synctest.Test(t, func(t *testing.T) {
			w, c, _ := watched(t, always)
			commits := 0
			c.Store = &flaky{Store: c.Store, after: func(method string) error {
				if method == "commit" {
					if commits++; commits == lost {
						return journal.ErrUnavailable
					}
				}
				return nil
			}}
			row := w.drive()
			require.Equal(t, execution.Completed, row.State)
			require.Len(t, w.checkpoints(), int(row.Step)+1)
			require.NotContains(t, w.types(), execution.TypeWarning)
		})
	}
}

// A node that acts although it is said to compute finds its boundary written when it runs the second time.
func TestNodeThatActsAheadOfItsBoundaryRunsAgainBehindIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, _, _ := watched(t, always)
		task, _ := w.queue.pop()
		h, err := w.durable.claim(t.Context(), task)
		require.NoError(t, err)
		ctx, end := context.WithCancelCause(t.Context())
		defer end(nil)
		h.node, h.end = ctx, end
		kept, err := h.step(t.Context(), ctx)
		require.NoError(t, err)
		require.True(t, kept)
		require.Len(t, h.chain, 1)
		require.Equal(t, execution.Step(0), w.row().Step)
		require.ErrorIs(t, h.Sure(ctx), errAhead)
		require.ErrorIs(t, h.MarkStarted(ctx, []execution.CallID{"call_0_0"}), errAhead)
		_, err = h.Receive(ctx, receipt{})
		require.ErrorIs(t, err, errAhead)
		m, err := h.prepare(ctx)
		require.NoError(t, err)
		kept, err = h.conclude(ctx, m, advance{}, fmt.Errorf("call: %w", errAhead))
		require.NoError(t, err)
		require.True(t, kept)
		require.Empty(t, h.chain)
		require.Equal(t, execution.Step(1), w.row().Step)
		require.NoError(t, h.Sure(ctx))
		require.Equal(t, PrepareModelRequest, Node(h.position.node))
	})
}

// The state that a node takes over in memory is the one that somebody else would read.
func TestStateInMemoryIsTheStoredOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		spaced := local.ModelResponse{ToolCalls: []execution.ToolCall{{Name: "look", Arguments: json.RawMessage(`{ "a" : "<b>" }`)}}}
		kit := &local.Kit{
			Model: script(spaced, calling("look"), text("done \xff <end>")),
			Tools: []local.Tool{tool("look", agent.ReadOnly, says("seen <that>"))},
		}
		w := newWorld(t, &agent.Definition{}, kit, func(c *Config) { c.NodesPerTask = 64 })
		task, _ := w.queue.pop()
		h, err := w.durable.claim(t.Context(), task)
		require.NoError(t, err)
		ctx, end := context.WithCancelCause(t.Context())
		defer end(nil)
		h.node, h.end = ctx, end
		kept, taken := true, 0
		for kept {
			kept, err = h.step(t.Context(), ctx)
			require.NoError(t, err)
			if !kept || h.position.state == nil {
				continue
			}
			taken++
			stored, err := DecodeCheckpoint(h.position.checkpoint)
			require.NoError(t, err)
			if stored.State.Limits == (execution.Limits{}) {
				stored.State.Limits = limitsOf(&agent.Definition{})
			}
			require.Equal(t, stored.State, *h.position.state, h.position.node)
			require.Equal(t, string(stored.Node), h.position.node)
		}
		require.Equal(t, execution.Completed, w.row().State)
		require.Greater(t, taken, 8)
	})
}

// Each of the nodes that compute does so with nobody to turn to.
func TestNodesThatComputeAskNobody(t *testing.T) {
	t.Parallel()
	for _, node := range Nodes() {
		state := RunState{}
		if !computes(node, &state) {
			continue
		}
		_, env := do(t, at(node, func(s *situation) {
			s.state.Response = &Response{Text: "done"}
			s.state.Batch = batchOf()
		}))
		require.Empty(t, env.marked)
		require.Empty(t, env.receipts)
	}
	require.False(t, computes(ToolReturn, &RunState{Batch: &Batch{Asked: &Asked{}}}))
	require.False(t, computes(BeforeModelRequest, &RunState{}))
	require.False(t, computes(ToolCall, &RunState{}))
	require.False(t, computes("unknown", &RunState{}))
}
