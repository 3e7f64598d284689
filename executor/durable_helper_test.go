package executor

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/journal/memjournal"
)

// kits is a Builder that gives the same kit to everybody.
type kits struct {
	kit *local.Kit
	err error
}

func (k kits) Build(context.Context, *agent.Definition) (*local.Kit, error) { return k.kit, k.err }

// tasks is a queue in memory.
type tasks struct {
	mu      sync.Mutex
	waiting []execution.Task
	err     error
}

func (q *tasks) Enqueue(_ context.Context, tasks ...execution.Task) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err != nil {
		return q.err
	}
	q.waiting = append(q.waiting, tasks...)
	return nil
}

func (q *tasks) pop() (execution.Task, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return execution.Task{}, false
	}
	task := q.waiting[0]
	q.waiting = q.waiting[1:]
	return task, true
}

func (q *tasks) holds(task execution.Task) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Contains(q.waiting, task)
}

// world is a store, a queue, a reaper and a worker.
type world struct {
	t       *testing.T
	store   journal.Store
	pass    func() // lets a while pass
	queue   *tasks
	durable *Durable
	id      execution.ID
	lease   *journal.Delegation // what submissions are delegated with; nil: nothing
	// establish, where set, makes the lease of an execution in its place.
	establish func(execution.ID) journal.Delegation
}

// quiet is a logger nobody reads.
func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// newWorld reserves one execution of the definition and starts a worker with the kit. It may be used in a synctest bubble.
func newWorld(t *testing.T, definition *agent.Definition, kit *local.Kit, change func(*Config)) *world {
	t.Helper()
	store, err := memjournal.New(journal.Config{SweepLock: -1})
	require.NoError(t, err)
	return newWorldOn(t, store, func() { <-time.After(500 * time.Millisecond) }, definition, kit, change)
}

// newWorldOn is newWorld on any store; pass lets a while pass on its clock.
func newWorldOn(t *testing.T, store journal.Store, pass func(), definition *agent.Definition, kit *local.Kit,
	change func(*Config),
) *world {
	t.Helper()
	w := &world{t: t, store: store, pass: pass, queue: &tasks{}}
	w.durable = w.worker(kit, change)
	if definition.Name == "" {
		definition.Name = "demo"
	}
	w.submit(definition)
	return w
}

// worker starts another worker on the same store and queue.
func (w *world) worker(kit *local.Kit, change func(*Config)) *Durable {
	w.t.Helper()
	cfg := Config{Store: w.store, Builder: kits{kit: kit}, Enqueuer: w.queue, ClaimTTL: 15 * time.Second, Logger: quiet()}
	if change != nil {
		change(&cfg)
	}
	durable, err := NewDurable(cfg)
	require.NoError(w.t, err)
	return durable
}

func (w *world) submit(definition *agent.Definition) {
	w.t.Helper()
	require.NoError(w.t, w.store.PutDefinition(w.t.Context(), definition.Hash(), definition.Canonical()))
	request := execution.CreateRequest{
		Agent: definition.Name, Input: execution.Input{Type: execution.UserMessage, Text: "Oslo, please"},
	}
	checkpoint, node, messages, err := Opening(definition, request)
	require.NoError(w.t, err)
	partition := execution.Partition(7)
	w.id = execution.NewID(partition)
	reservation, err := w.store.Reserve(w.t.Context(), journal.NewExecution{
		ID: w.id, ConversationID: execution.NewConversationID(partition), Caller: execution.LocalCaller(), Request: request,
		Definition: definition.Hash(), Deadline: definition.Limits.Deadline, Checkpoint: checkpoint, Node: node,
		Messages: messages, Delegated: w.lease != nil,
	})
	require.NoError(w.t, err)
	if w.lease != nil {
		if w.establish != nil {
			*w.lease = w.establish(w.id)
		}
		change, err := w.store.Delegate(w.t.Context(), w.id, *w.lease)
		require.NoError(w.t, err)
		reservation.Tasks = change.Tasks
	}
	require.NoError(w.t, w.queue.Enqueue(w.t.Context(), reservation.Tasks...))
}

func (w *world) row() journal.Execution {
	w.t.Helper()
	row, err := w.store.Get(w.t.Context(), w.id)
	require.NoError(w.t, err)
	return row
}

// next runs the task at the head of the queue.
func (w *world) next() error {
	w.t.Helper()
	task, ok := w.queue.pop()
	require.True(w.t, ok, "a task is standing")
	return w.durable.Run(w.t.Context(), task)
}

// to runs tasks until the execution stands at the boundary.
func (w *world) to(node Node) {
	w.t.Helper()
	for range 100 {
		if w.row().Node == string(node) {
			return
		}
		require.NoError(w.t, w.next())
	}
	require.Fail(w.t, "the boundary was not reached", node)
}

// dump is everything the store holds.
func (w *world) dump() map[string]string {
	w.t.Helper()
	store, ok := w.store.(*memjournal.Store)
	require.True(w.t, ok)
	return store.Dump()
}

// drive runs tasks, and the reaper when there are none, until no worker is needed any more.
func (w *world) drive() journal.Execution {
	w.t.Helper()
	for range 1000 {
		row := w.row()
		if row.State.Terminal() || row.State == execution.Suspended || row.State == execution.WaitingForInput {
			return row
		}
		task, ok := w.queue.pop()
		if !ok {
			w.pass()
			w.sweep()
			continue
		}
		var back *execution.PutBack
		if err := w.durable.Run(w.t.Context(), task); errors.As(err, &back) {
			w.pass()
			require.NoError(w.t, w.queue.Enqueue(w.t.Context(), task))
		}
	}
	require.Fail(w.t, "the execution does not come to rest", "%+v", w.row())
	return journal.Execution{}
}

// sweep is a pass of a reaper.
func (w *world) sweep() {
	w.t.Helper()
	found, err := w.store.Sweep(w.t.Context(), w.id.Partition(), 100)
	require.NoError(w.t, err)
	for _, due := range found {
		var requeued journal.Requeued
		switch due.Action {
		case journal.ActStanding:
			if w.queue.holds(due.Task) {
				continue
			}
			requeued, err = w.store.Requeue(w.t.Context(), due)
		case journal.ActRequeue:
			requeued, err = w.store.Requeue(w.t.Context(), due)
		case journal.ActExpire:
			requeued, err = w.store.Expire(w.t.Context(), due)
		case journal.ActPurge, journal.ActKey, journal.ActBad, journal.ActNewer:
		}
		require.NoError(w.t, err)
		require.NoError(w.t, w.queue.Enqueue(w.t.Context(), requeued.Tasks...))
	}
}

// answer answers the open interaction.
func (w *world) answer(input execution.Input) {
	w.t.Helper()
	open := w.row().PendingInteraction
	require.NotNil(w.t, open)
	input.RequestID = open.RequestID
	payload, err := json.Marshal(input)
	require.NoError(w.t, err)
	mutation, err := w.store.CommitInteractionInput(w.t.Context(), w.id, journal.InteractionInput{
		OperationID: execution.OperationID("op-" + open.RequestID), RequestID: open.RequestID, Response: string(payload),
	})
	require.NoError(w.t, err)
	require.NoError(w.t, w.queue.Enqueue(w.t.Context(), mutation.Tasks...))
}

// nodes are the boundaries of the checkpoints.
func (w *world) nodes() []Node {
	w.t.Helper()
	var out []Node
	for _, checkpoint := range w.checkpoints() {
		out = append(out, checkpoint.Node)
	}
	return out
}

func (w *world) checkpoints() []Checkpoint {
	w.t.Helper()
	stored, err := w.store.Checkpoints(w.t.Context(), w.id, 0, 10_000)
	require.NoError(w.t, err)
	out := make([]Checkpoint, len(stored))
	for i := range stored {
		out[i], err = DecodeCheckpoint(stored[i].Data)
		require.NoError(w.t, err)
		require.Equal(w.t, execution.Step(i), out[i].Step, "each step is committed once")
	}
	return out
}

func (w *world) events() []execution.Event {
	w.t.Helper()
	events, err := w.store.Events(w.t.Context(), w.id, 0, 10_000)
	require.NoError(w.t, err)
	return events
}

func (w *world) types() []execution.EventType {
	w.t.Helper()
	var out []execution.EventType
	for i, event := range w.events() {
		require.Equal(w.t, execution.Sequence(i+1), event.Sequence)
		out = append(out, event.Payload.EventType())
	}
	return out
}

func (w *world) history() []execution.Message {
	w.t.Helper()
	stored, err := w.store.Messages(w.t.Context(), w.id, 0, 10_000)
	require.NoError(w.t, err)
	messages, err := decodeMessages(stored)
	require.NoError(w.t, err)
	return messages
}

// script is a model that answers with its turns, the last one for ever.
func script(turns ...local.ModelResponse) fakeModel {
	return func(_ context.Context, request local.ModelRequest) (local.ModelResponse, error) {
		return turns[min(request.Attempt, len(turns)-1)], nil
	}
}

func calling(names ...string) local.ModelResponse {
	response := local.ModelResponse{FinishReason: "tool_calls"}
	for _, name := range names {
		response.ToolCalls = append(response.ToolCalls, execution.ToolCall{Name: name, Arguments: json.RawMessage(`{}`)})
	}
	return response
}

func text(text string) local.ModelResponse {
	return local.ModelResponse{Text: text, FinishReason: "stop"}
}

// flaky is a store whose calls may be intercepted. before refuses a call that then has no effect; after replaces the
// reply of a call that had its effect. Both get the method's name.
type flaky struct {
	Store
	mu     sync.Mutex
	before func(method string) error // guarded by mu
	after  func(method string) error // guarded by mu
}

// refuse changes what happens before a call.
func (f *flaky) refuse(before func(method string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before = before
}

func (f *flaky) hooks() (before, after func(method string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.before, f.after
}

func through[T any](f *flaky, method string, call func() (T, error)) (T, error) {
	var zero T
	before, after := f.hooks()
	if before != nil {
		if err := before(method); err != nil {
			return zero, err
		}
	}
	answer, err := call()
	if after != nil {
		if lost := after(method); lost != nil {
			return zero, lost
		}
	}
	return answer, err
}

func (f *flaky) Claim(ctx context.Context, q journal.ClaimRequest) (journal.Claimed, error) {
	return through(f, "claim", func() (journal.Claimed, error) { return f.Store.Claim(ctx, q) })
}

func (f *flaky) Spawn(ctx context.Context, q journal.Spawn) (journal.Reservation, error) {
	return through(f, "spawn", func() (journal.Reservation, error) { return f.Store.Spawn(ctx, q) })
}

func (f *flaky) Renew(ctx context.Context, h journal.Hold, ttl time.Duration) (journal.Renewed, error) {
	return through(f, "renew", func() (journal.Renewed, error) { return f.Store.Renew(ctx, h, ttl) })
}

func (f *flaky) Record(ctx context.Context, q journal.Record) (journal.Recorded, error) {
	return through(f, "record", func() (journal.Recorded, error) { return f.Store.Record(ctx, q) })
}

func (f *flaky) Commit(ctx context.Context, q journal.Commit) (journal.Committed, error) {
	return through(f, "commit", func() (journal.Committed, error) { return f.Store.Commit(ctx, q) })
}

func (f *flaky) Release(ctx context.Context, q journal.Release) (journal.Committed, error) {
	return through(f, "release", func() (journal.Committed, error) { return f.Store.Release(ctx, q) })
}

func (f *flaky) Requests(ctx context.Context, holds []journal.Hold) ([]journal.Request, error) {
	return through(f, "requests", func() ([]journal.Request, error) { return f.Store.Requests(ctx, holds) })
}
