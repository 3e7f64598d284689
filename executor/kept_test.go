package executor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// calls counts the calls to a store.
type calls struct {
	Store
	n map[string]int
}

func (c *calls) Claim(ctx context.Context, q journal.ClaimRequest) (journal.Claimed, error) {
	c.n["claim"]++
	return c.Store.Claim(ctx, q)
}

func (c *calls) Commit(ctx context.Context, q journal.Commit) (journal.Committed, error) {
	c.n["commit"]++
	return c.Store.Commit(ctx, q)
}

func (c *calls) Messages(ctx context.Context, id execution.ID, from, limit int) ([][]byte, error) {
	c.n["messages"]++
	return c.Store.Messages(ctx, id, from, limit)
}

// counting is a worker with so many nodes per task, whose calls are counted.
func (w *world) counting(kit *local.Kit, nodes int) *calls {
	c := &calls{n: map[string]int{}}
	w.durable = w.worker(kit, func(cfg *Config) { c.Store, cfg.Store, cfg.NodesPerTask = cfg.Store, c, nodes })
	return c
}

// trail is all that an execution has left, byte by byte, but for times.
type trail struct {
	checkpoints, messages, events, ledger []string
	state                                 execution.State
	usage                                 execution.Usage
}

func (w *world) trail() trail {
	w.t.Helper()
	var out trail
	checkpoints, err := w.store.Checkpoints(w.t.Context(), w.id, 0, 10_000)
	require.NoError(w.t, err)
	messages, err := w.store.Messages(w.t.Context(), w.id, 0, 10_000)
	require.NoError(w.t, err)
	own := func(list [][]byte) (texts []string) {
		for _, data := range list {
			texts = append(texts, strings.ReplaceAll(string(data), string(w.id), "<id>"))
		}
		return texts
	}
	bare := make([][]byte, len(checkpoints))
	for i := range checkpoints {
		bare[i] = checkpoints[i].Data
	}
	out.checkpoints, out.messages = own(bare), own(messages)
	for _, event := range w.events() {
		payload, err := execution.EncodePayload(event.Payload)
		require.NoError(w.t, err)
		out.events = append(out.events, fmt.Sprint(event.Sequence, " ", string(payload)))
	}
	calls := []execution.CallID{execution.NewCallID(0, 0), execution.NewCallID(0, 1), execution.NewCallID(1, 0)}
	ledger, err := w.store.Ledger(w.t.Context(), w.id, calls)
	require.NoError(w.t, err)
	for _, entry := range ledger {
		out.ledger = append(out.ledger, fmt.Sprintf("%s %s %s", entry.State, entry.Intent, entry.Receipt))
	}
	row := w.row()
	out.state, out.usage = row.State, row.Usage
	return out
}

// What is stored does not depend on how many nodes run under a claim; how many claims and writes it takes does.
func TestNodesPerTaskChangesNothingButTheClaimsAndTheWrites(t *testing.T) {
	t.Parallel()
	trails := map[int]trail{}
	claims := map[int]int{}
	for _, nodes := range []int{1, 2, 8, 64} {
		synctest.Test(t, func(t *testing.T) {
			var lengths []int
			kit := twoTurns(&lengths)
			w := newWorld(t, &agent.Definition{}, kit, nil)
			c := w.counting(kit, nodes)
			row := w.drive()
			require.Equal(t, execution.Completed, row.State)
			require.Equal(t, []int{1, 3, 5}, lengths)
			trails[nodes], claims[nodes] = w.trail(), c.n["claim"]
			require.Equal(t, (int(row.Step)+nodes-1)/nodes, c.n["claim"])
			require.Zero(t, c.n["messages"], "the history comes with the claim")
			switch nodes {
			case 1:
				require.Equal(t, int(row.Step), c.n["commit"])
			case 64: // before each model request and each batch of calls, and at the end
				require.Equal(t, 6, c.n["commit"])
			}
			for i, checkpoint := range w.checkpoints() {
				require.NotNil(t, i == 0 || checkpoint.Resume.Cursor.StreamCursor != nil)
			}
		})
		require.Equal(t, trails[1], trails[nodes], "%d nodes per task", nodes)
	}
	require.Greater(t, claims[1], claims[8])
}

func TestTaskEndsWithItsQuantum(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kit := &local.Kit{Model: fakeModel(func(context.Context, local.ModelRequest) (local.ModelResponse, error) {
			<-time.After(nodeQuantum)
			return text("done"), nil
		})}
		w := newWorld(t, &agent.Definition{}, kit, nil)
		w.counting(kit, 64)
		require.NoError(t, w.next())
		row := w.row()
		require.Equal(t, string(ModelResponse), row.Node)
		require.Nil(t, row.Claim, "others have their turn")
		require.Equal(t, execution.Completed, w.drive().State)
	})
}

// Case A5: a worker that dies behind a commit that kept its claim costs one reclaim, of the next step.
func TestCaseA5_KeptClaimOfADeadWorkerRunsOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lengths []int
		kit := twoTurns(&lengths)
		w := newWorld(t, &agent.Definition{}, kit, nil)
		commits := 0
		w.durable = w.worker(kit, func(c *Config) {
			c.NodesPerTask = 8
			c.Store = &flaky{Store: c.Store, before: func(method string) error {
				if method == "commit" {
					commits++
				}
				if commits > 1 { // the first one goes to the model request
					return journal.ErrFenced
				}
				return nil
			}}
		})
		require.NoError(t, w.next())
		row := w.row()
		require.Equal(t, execution.Step(2), row.Step)
		require.NotNil(t, row.Claim)
		_, standing := w.queue.pop()
		require.False(t, standing, "a kept claim has no task")
		w.durable = w.worker(kit, nil)
		row = w.drive()
		require.Equal(t, execution.Completed, row.State)
		require.Contains(t, w.types(), execution.TypeWarning)
	})
}

func TestDrainEndsATaskBetweenItsNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked, open := make(chan struct{}), make(chan struct{})
		kit := &local.Kit{Model: fakeModel(func(context.Context, local.ModelRequest) (local.ModelResponse, error) {
			close(asked)
			<-open
			return text("done"), nil
		})}
		w := newWorld(t, &agent.Definition{}, kit, nil)
		w.counting(kit, 64)
		task, _ := w.queue.pop()
		done, drained := make(chan error, 1), make(chan error, 1)
		go func() { done <- w.durable.Run(t.Context(), task) }()
		<-asked
		go func() { drained <- w.durable.Drain(t.Context()) }()
		synctest.Wait()
		close(open)
		require.NoError(t, <-done)
		require.NoError(t, <-drained)
		row := w.row()
		require.Equal(t, string(ModelResponse), row.Node)
		require.Nil(t, row.Claim)
		_, standing := w.queue.pop()
		require.True(t, standing)
	})
}

// Case D4 for a task of many nodes: a cancel ends it at its next commit.
func TestCaseD4_CancelEndsATaskOfManyNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w *world
		kit := &local.Kit{
			Model: script(calling("cancel"), text("never")),
			Tools: []local.Tool{tool("cancel", agent.ReadOnly, func(ctx context.Context, call local.Invocation) (local.Answer, error) {
				_, err := w.store.Cancel(ctx, w.id)
				return local.Answer{}, errors.Join(err, ctx.Err())
			})},
		}
		w = newWorld(t, &agent.Definition{}, kit, nil)
		w.counting(kit, 64)
		require.NoError(t, w.next())
		require.Equal(t, execution.Canceled, w.row().State)
	})
}
