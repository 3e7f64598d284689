package onetrip_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/executor"
	"github.com/pawl-run/pawl/internal/onetrip"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/journal/redisjournal"
	"github.com/pawl-run/pawl/queue"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// trips counts round trips; a pipeline is one.
type trips struct {
	mu sync.Mutex
	n  int
}

func (c *trips) add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
}

// take returns the count and begins anew.
func (c *trips) take() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.n
	c.n = 0
	return n
}

func (c *trips) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (c *trips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if !background(cmd) {
			c.add()
		}
		return next(ctx, cmd)
	}
}

// background reports what is not a step's own: the greeting of a new connection, and a token that follows a moment later
// (with a server of its own that has a free slot, a process sends none).
func background(cmd redis.Cmder) bool {
	switch cmd.Name() {
	case "hello", "client", "ping", "lpush":
		return true
	default:
		return false
	}
}

func (c *trips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if !background(cmds[0]) {
			c.add()
		}
		return next(ctx, cmds)
	}
}

type model struct{}

// Generate asks for the tool three times and then answers.
func (model) Generate(_ context.Context, request local.ModelRequest, _ local.Sink) (local.ModelResponse, error) {
	if request.Attempt == 3 {
		return local.ModelResponse{Text: "done"}, nil
	}
	return local.ModelResponse{ToolCalls: []execution.ToolCall{{Name: "look", Arguments: json.RawMessage(`{}`)}}}, nil
}

type look struct{}

func (look) Spec() local.ToolSpec { return local.ToolSpec{Name: "look", Recovery: agent.ReadOnly} }

func (look) Call(_ context.Context, call local.Invocation, _ local.Sink) (local.Answer, error) {
	result := execution.TextResult(call.Call, "seen")
	return local.Answer{Result: &result}, nil
}

type builder struct{}

func (builder) Build(context.Context, *agent.Definition) (*local.Kit, error) {
	return &local.Kit{Model: model{}, Tools: []local.Tool{look{}}}, nil
}

// world is a worker on a Redis of its own, and one execution whose tasks are taken from Asynq's keys by hand.
type world struct {
	t     *testing.T
	rdb   *redis.Client
	store *redisjournal.Store
	trips *trips
	pipe  executor.Pipeline
	id    execution.ID
	run   *executor.Durable
}

func newWorld(t *testing.T, nodes int) *world {
	t.Helper()
	server := redistest.Start(t)
	w := &world{t: t, rdb: server.Client(t), trips: &trips{}}
	w.rdb.AddHook(w.trips)
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	var err error
	w.store, err = redisjournal.New(w.rdb, redisjournal.Config{Logger: log})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.store.Close()) })
	client, err := queue.NewClient(w.rdb, queue.ClientConfig{Logger: log})
	require.NoError(t, err)
	w.pipe = onetrip.New(w.rdb, w.store, client)
	require.NotNil(t, w.pipe)
	w.run, err = executor.NewDurable(executor.Config{
		Store: w.store, Builder: builder{}, Enqueuer: client, Pipeline: w.pipe, NodesPerTask: nodes, Logger: log,
	})
	require.NoError(t, err)
	w.submit()
	return w
}

func (w *world) submit() {
	definition := &agent.Definition{Name: "demo"}
	require.NoError(w.t, w.store.PutDefinition(w.t.Context(), definition.Hash(), definition.Canonical()))
	request := execution.CreateRequest{Agent: "demo", Input: execution.Input{Type: execution.UserMessage, Text: "Oslo"}}
	checkpoint, node, messages, err := executor.Opening(definition, request)
	require.NoError(w.t, err)
	w.id = execution.NewID(3)
	_, err = w.store.Reserve(w.t.Context(), journal.NewExecution{
		ID: w.id, ConversationID: execution.NewConversationID(3), Caller: execution.LocalCaller(), Request: request,
		Definition: definition.Hash(), Checkpoint: checkpoint, Node: node, Messages: messages,
	})
	require.NoError(w.t, err)
}

// standing is the task that the row wants, which must stand in Asynq's queue.
func (w *world) standing() execution.Task {
	w.t.Helper()
	row, err := w.store.Get(w.t.Context(), w.id)
	require.NoError(w.t, err)
	task := execution.Task{Execution: w.id, Step: row.Step, Wake: row.Wake, Queue: "default"}
	if row.Step > 0 {
		ids, err := w.rdb.LRange(w.t.Context(), "asynq:{default}:pending", 0, -1).Result()
		require.NoError(w.t, err)
		require.Contains(w.t, ids, task.ID())
	}
	return task
}

// A step is a claim, and a commit with the enqueue of the next one; each receipt is one more. Taking a task from Asynq and
// ending it are the other two of the four.
func TestRoundTripsOfAStepAreExact(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	require.NoError(t, w.run.Run(t.Context(), w.standing())) // loads scripts and definition
	for {
		task := w.standing()
		before, err := w.store.Get(t.Context(), w.id)
		require.NoError(t, err)
		w.trips.take()
		require.NoError(t, w.run.Run(t.Context(), task))
		want := 2
		if before.Node == string(executor.ToolCall) {
			want = 3
		}
		after := w.trips.take()
		row, err := w.store.Get(t.Context(), w.id)
		require.NoError(t, err)
		if before.Node == string(executor.ToolCall) && before.Step == 4 {
			want++ // the script of the first receipt is sent again with its source
		}
		if row.State == execution.Completed {
			break
		}
		require.Equal(t, want, after, "of step %d, %s", task.Step, before.Node)
	}
}

func TestServerThatForgotItsScriptsGetsThemAgain(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{1, 3} {
		w := newWorld(t, nodes)
		for {
			task := w.standing()
			require.NoError(t, w.rdb.ScriptFlush(t.Context()).Err())
			require.NoError(t, w.run.Run(t.Context(), task))
			row, err := w.store.Get(t.Context(), w.id)
			require.NoError(t, err)
			if row.State.Terminal() {
				require.Equal(t, execution.Completed, row.State)
				break
			}
		}
	}
}

func TestRefusedCommitLeavesAHarmlessTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	next := execution.Task{Execution: w.id, Step: 1, Wake: 2, Queue: "default"}
	commit := journal.Commit{
		Hold: journal.Hold{Execution: w.id, Fence: "1-nobody"}, Node: "prepare_model_request", Checkpoint: []byte("{}"),
		Then: journal.Then{Kind: journal.ThenContinue},
	}
	_, enqueued, err := w.pipe.CommitAndEnqueue(t.Context(), commit, next)
	require.ErrorIs(t, err, journal.ErrFenced)
	require.True(t, enqueued || w.rdb.LLen(t.Context(), "asynq:{default}:pending").Val() == 0)
	for n := 0; ; n++ {
		err = w.run.Run(t.Context(), next)
		if err == nil {
			require.LessOrEqual(t, n, 3)
			break
		}
		var back *execution.PutBack
		require.ErrorAs(t, err, &back)
		require.LessOrEqual(t, back.After, 50*time.Millisecond)
	}
	row, err := w.store.Get(t.Context(), w.id)
	require.NoError(t, err)
	require.Equal(t, execution.Queued, row.State)

	commit.Then.Kind = "sleep"
	_, enqueued, err = w.pipe.CommitAndEnqueue(t.Context(), commit, next)
	require.ErrorIs(t, err, journal.ErrConflict)
	require.False(t, enqueued)
}

func TestClusterCommitsAndEnqueuesApart(t *testing.T) {
	t.Parallel()
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"localhost:1"}})
	t.Cleanup(func() { require.NoError(t, cluster.Close()) })
	require.Nil(t, onetrip.New(cluster, nil, nil))
}
