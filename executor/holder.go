package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/faultpoint"
	"github.com/pawl-run/pawl/journal"
)

// holder is a claim and the nodes that run under it, one after the other.
type holder struct {
	durable *Durable        // immutable
	claimed journal.Claimed // immutable
	known   *history        // immutable: what the claim was told not to bring again; nil: nothing
	at      time.Time       // immutable: when the answer to the claim was in, which is claimed.NowMs on the store's clock
	trust   *trust

	// Of the goroutine that runs the nodes.
	position position
	chain    []link       // boundaries behind which the position is already and that are not written yet, oldest first
	nodes    int          // that have begun
	frames   *frames      // of the node
	current  *history     // the conversation's, as it stands; nil: not known
	trace    TraceContext // of the execution, from its newest checkpoint
	tree     *tree        // of the execution and those around it; set by prepare

	delegated delegated
	lent      lent

	node context.Context         // of the node; set by run
	end  context.CancelCauseFunc // ends the node with one of the causes, the first of which stays; set by run

	mu        sync.Mutex
	operation journal.Operation // guarded by mu: the last number given to a fenced call
	renewal   renewal           // guarded by mu
	// written are the ledger entries that were recorded under the claim, as they are stored.
	written map[execution.CallID]journal.LedgerEntry // guarded by mu
	// logged counts the events that came with them since the position was last taken.
	logged int // guarded by mu
}

func newHolder(ctx context.Context, d *Durable, claimed journal.Claimed, known *history, sent time.Time) *holder {
	if !d.histories.seen(claimed.Execution.ID, claimed.Execution.Step) {
		known, claimed.Messages = nil, nil
	}
	h := &holder{durable: d, claimed: claimed, known: known, at: time.Now(), trust: &trust{}}
	h.trust.extend(sent, d.cfg.ClaimTTL)
	h.renewal.due = h.at.Add(d.cfg.ClaimTTL / 3)
	h.position = positionOf(&h.claimed)
	return h
}

// hold is what the next fenced call shows.
func (h *holder) hold() journal.Hold {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operation++
	return journal.Hold{Execution: h.claimed.Execution.ID, Fence: h.claimed.Fence, Operation: h.operation}
}

// run works on the node, and on those behind it as long as the claim is kept, and writes what became of each. It returns
// when the node's function has returned.
func (h *holder) run(ctx context.Context) error {
	node, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	defer h.stop()
	defer h.giveBack(false)
	h.node, h.end = node, end
	h.durable.add(h) //nolint:contextcheck // its renewals go on for as long as its node does
	defer h.durable.remove(h)
	unlink := context.AfterFunc(ctx, func() { end(ErrDrained) }) // the queue takes its worker back
	defer unlink()
	defer h.endAtDeadline()()
	defer func() { h.durable.cfg.Observer.Held(time.Since(h.at)) }()
	for {
		kept, err := h.step(context.WithoutCancel(ctx), node)
		if !kept {
			return err
		}
	}
}

// step works on one node. It returns true when the claim was kept for the next one.
func (h *holder) step(ctx, node context.Context) (kept bool, err error) {
	if faultpoint.Enabled {
		faultpoint.Hit("claimed:" + h.position.node)
	}
	began := time.Now()
	h.nodes++
	h.frames = newFrames(ctx, h.claimed.Execution.ID, h.position.step, h.durable.cfg.Store)
	m, err := h.ready(node)
	a := advance{state: RunState{Usage: h.position.usage}}
	if err == nil {
		traced, end := h.span(node)
		a, err = h.work(traced, m)
		end(&a, err)
		h.frames.close()
	}
	if errors.Is(context.Cause(node), ErrFenced) {
		err = ErrFenced // whatever the node came to
	}
	h.durable.cfg.Observer.Ran(Node(h.position.node), err == nil && a.back == nil, time.Since(began))
	return h.conclude(ctx, m, a, err)
}

// endAtDeadline ends the node at the execution's deadline; the answer takes that back. One that has passed already ends
// nothing: the machine sees it first of all, and what it takes to come that far is not to be interrupted.
func (h *holder) endAtDeadline() (undo func()) {
	row := &h.claimed.Execution
	left := time.Duration(row.DeadlineAtMs-h.claimed.NowMs) * time.Millisecond
	if row.DeadlineAtMs == 0 || left <= 0 {
		return func() {}
	}
	timer := time.AfterFunc(left, func() { h.end(ErrDeadline) })
	return func() { timer.Stop() }
}

// work runs the node; a panic is a failure of this node and of nothing else.
func (h *holder) work(ctx context.Context, m *machine) (a advance, err error) {
	defer func() {
		if r := recover(); r != nil {
			h.log().ErrorContext(ctx, "a node panicked", "node", m.node, "panic", r, "stack", string(debug.Stack()))
			a = m.retry(&local.Error{Kind: local.Transient, Code: "panic", Message: fmt.Sprint(r)})
			err = nil
		}
	}()
	return m.run(ctx)
}

// ready is prepare; a panic, say of a kit's builder, is an error of this execution and of no other one.
func (h *holder) ready(ctx context.Context) (m *machine, err error) {
	defer func() {
		if r := recover(); r != nil {
			h.log().ErrorContext(ctx, "a node panicked", "node", h.position.node, "panic", r, "stack", string(debug.Stack()))
			m, err = nil, &local.Error{Kind: local.Transient, Code: "panic", Message: fmt.Sprint(r)}
		}
	}()
	return h.prepare(ctx)
}

// prepare reads the checkpoint and makes its definition ready.
func (h *holder) prepare(ctx context.Context) (*machine, error) {
	row := &h.claimed.Execution
	checkpoint, err := h.boundary()
	if err != nil {
		return nil, err
	}
	lost := h.lost(&checkpoint)
	checkpoint.State.Usage = h.position.usage // newer when an attempt failed after it was charged
	messages, err := h.history(ctx)
	if err != nil {
		return nil, err
	}
	made := h.durable.definitions.kept(definitionKey(row.Definition, row.Overrides))
	if made == nil {
		err = repeat(ctx, h.trust.until(), func(ctx context.Context) (err error) {
			made, err = h.durable.definitions.get(ctx, row.Definition, row.Overrides)
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	if made.limited || checkpoint.State.Limits == (execution.Limits{}) {
		checkpoint.State.Limits = limitsOf(made.definition)
	}
	if err := h.consultOpening(ctx, checkpoint); err != nil {
		return nil, err
	}
	h.tree = made.tree
	m := newMachine(situation{
		id: row.ID, conversation: row.ConversationID, invocation: string(h.claimed.Fence), step: h.position.step, node: checkpoint.Node, state: checkpoint.State,
		definition: made.definition, kit: h.kit(made.kit), remote: made.remote, schemas: made.schemas, find: made.tree.find,
		maxDepth: h.durable.cfg.MaxDepth, fence: h.claimed.Fence, ledger: h.position.ledger,
		inbox: h.position.inbox, messages: messages, attempts: h.position.attempts, deadlineAtMs: row.DeadlineAtMs,
		lost: lost,
	}, h)
	if errors.Is(m.unread, execution.ErrNewer) { // also where a receipt would only be told to the history
		return nil, m.unread
	}
	return m, nil
}

// lost counts the claims of the step that ran out and whose model requests are not in the usage yet.
func (h *holder) lost(checkpoint *Checkpoint) int {
	if h.nodes > 1 || checkpoint.Node != BeforeModelRequest {
		return 0
	}
	charged := h.position.usage.LostRequests - checkpoint.State.Usage.LostRequests
	return h.claimed.Execution.Reclaims - int(charged)
}

// named fills in the ids.
func (h *holder) named(c Checkpoint) Checkpoint {
	c.ExecutionID, c.ConversationID = h.claimed.Execution.ID, h.claimed.Execution.ConversationID
	return c
}

// conclude writes what the node came to. m is nil when the node could not begin.
func (h *holder) conclude(ctx context.Context, m *machine, a advance, err error) (kept bool, _ error) {
	var suspended *suspendedError
	var failed *FailedError
	back := handBack{}
	if a.back != nil {
		back = *a.back
	}
	switch {
	case errors.Is(err, ErrFenced):
		h.superseded(ctx)
		return false, nil
	case err == nil && a.back == nil:
		return h.commit(ctx, m, a)
	case err == nil:
	case errors.As(err, &suspended):
		back.suspension = &execution.Suspension{Reason: execution.ReasonPolicy, Detail: suspended.reason}
	case errors.Is(err, errAhead): // the node runs again once its boundary is written
		return h.flush(ctx)
	case errors.As(err, &failed) && h.node.Err() == nil: // whatever the hook's own store says
		back = *retryOf(Node(h.position.node), h.position.attempts, err, h.Jitter, back.unsent)
	case errors.Is(err, ErrUserCancel), errors.Is(err, ErrTrustEnded), errors.Is(err, ErrDrained), unavailable(err):
	case errors.Is(err, execution.ErrNewer):
		back.left = true
		h.leave(ctx, err)
	case errors.Is(err, errDefinition), errors.Is(err, ErrCheckpoint), errors.Is(err, ErrUnknownNode):
		back.suspension = &execution.Suspension{Reason: execution.ReasonUnknownDefinition, Detail: err.Error()}
	case errors.Is(err, journal.ErrLimit) && m != nil:
		return h.commit(ctx, m, m.fail(execution.CodeEventLimitExceeded, "the execution's log is full"))
	default:
		h.log().ErrorContext(ctx, "a node failed", "node", h.position.node, "error", err)
		back = *retryOf(Node(h.position.node), h.position.attempts, err, h.Jitter, back.unsent)
	}
	return false, h.release(ctx, back, a.state.Usage)
}

// leave says that a later release has been at work on the execution. It stays as it is, and its workers go on with it: this one is
// only called again when the hand-off has passed, so that it does not turn in circles with what it cannot read.
func (h *holder) leave(ctx context.Context, err error) {
	h.durable.cfg.Observer.Newer()
	h.log().WarnContext(ctx, "left to a worker of a later release", "node", h.position.node, "error", err)
}

func (h *holder) superseded(ctx context.Context) {
	h.durable.cfg.Observer.Fenced()
	h.log().InfoContext(ctx, "the claim was superseded, nothing was written")
}

// log is the logger of what happens under the claim. Of the goroutine that runs the nodes.
func (h *holder) log() *slog.Logger {
	return h.durable.cfg.Logger.With(
		"execution", h.claimed.Execution.ID, "step", h.position.step, "fence", h.claimed.Fence,
	)
}
