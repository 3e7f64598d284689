package link

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/execution"
)

// RuntimeLink is what an app can do with executions, as one caller. Every error is an *execution.APIError (or the
// context's own error), so errors.Is finds its class: execution.ErrInvalid, ErrNotFound, ErrForbidden, ErrConflict and
// the finer ones, ErrOverloaded, ErrUnavailable, ErrInternal.
//
// After ErrUnavailable the outcome of a write is unknown: repeat the very same call. Create and Fork are safe to repeat with
// their key, SubmitInput with its operation id, Cancel, Pause, Resume, Bulk and Delete always; after a Release another worker
// may hold the execution, so ask Why before another one. client.Client repeats what is safe, and makes a key up where there is
// none.
type RuntimeLink interface {
	// Create submits an execution. When it returns, the execution is written. key, 1 to 256 printable characters, makes
	// it idempotent for as long as the execution is kept: the same request gives the first execution's current view,
	// another request ErrIdempotencyKeyReused. An empty key is none.
	Create(ctx context.Context, key string, request execution.CreateRequest) (execution.Created, error)
	// Execution returns the view of an execution.
	Execution(ctx context.Context, id execution.ID) (execution.View, error)
	// List returns a page of the executions that the caller may see, newest first: with role submit its own, else its
	// tenant's. A limit above MaxLimit is MaxLimit. What is wrong with the query, and a cursor of another caller or of other
	// filters, is ErrInvalid.
	List(ctx context.Context, query execution.ListQuery) (execution.ListPage, error)
	// Wait returns the view as soon as the execution has ended or has another version than the given one, and after d,
	// at most MaxWait, whatever has happened. Version 0 waits for another state than the one at the call.
	Wait(ctx context.Context, id execution.ID, version uint64, d time.Duration) (execution.View, error)
	// Events returns at most limit events with a sequence above after. A limit above MaxLimit is MaxLimit, below 1 is
	// ErrInvalid; an after beyond the log is ErrConflict.
	Events(ctx context.Context, id execution.ID, after execution.Sequence, limit int) (execution.EventPage, error)
	// Follow streams the events with a sequence above after, and frames, up to the terminal event. The stream lives
	// until it is closed or ctx ends. An after beyond the log is ErrConflict. A stream that is read too slowly ends with
	// ErrOverloaded, and one may end with ErrUnavailable: follow again behind the last event. One that begins in mid-answer
	// has the answer so far in its first frame (execution.Frame).
	Follow(ctx context.Context, id execution.ID, after execution.Sequence) (execution.Stream, error)
	// SubmitInput answers the open interaction. Repeating it with its operation id answers as before, whatever has
	// become of the execution; other content under that id is ErrConflict. An interaction that is not open, or was
	// answered by another operation, is ErrInteractionClosed.
	SubmitInput(ctx context.Context, id execution.ID, input execution.SubmitInput) (execution.View, error)
	// Cancel ends the execution, or asks its holder to. On one that has ended it changes nothing.
	Cancel(ctx context.Context, id execution.ID) (execution.Steered, error)
	// Pause suspends the execution with the reason paused; a running one when the node in flight has ended. On one that is
	// suspended it changes nothing, on one that has ended it is ErrExecutionEnded, on one that is finalizing ErrConflict.
	Pause(ctx context.Context, id execution.ID) (execution.Steered, error)
	// Resume takes a suspended execution back to where it was, with all its attempts. On another open one it changes
	// nothing: a pause that is requested stays so. On one that has ended it is ErrExecutionEnded, on one that is finalizing
	// ErrConflict, and so is a shared limit of a child that is raised above what its parent has left.
	Resume(ctx context.Context, id execution.ID, request execution.ResumeRequest) (execution.Steered, error)
	// Blob returns a tool result that is stored beside the execution: one JSON value, as the tool gave it. hash is its
	// SHA-256 in lower-case hex. ErrNotFound when the execution has none of that hash.
	Blob(ctx context.Context, id execution.ID, hash string) ([]byte, error)
	// Messages returns at most limit messages of the execution's history from index from on, fewer when they are large. A
	// limit above MaxLimit is MaxLimit.
	Messages(ctx context.Context, id execution.ID, from, limit int) (execution.MessagePage, error)
	// Checkpoints returns at most limit checkpoints from step from on.
	Checkpoints(ctx context.Context, id execution.ID, from execution.Step, limit int) (execution.CheckpointPage, error)
	// ToolCalls returns at most limit of the execution's tool calls as the ledger has them, in the order in which they were
	// planned: those whose tool_started event has a sequence above after; fewer when they are large, or far apart in the log.
	// after and limit are as in Events.
	ToolCalls(ctx context.Context, id execution.ID, after execution.Sequence, limit int) (execution.ToolCallPage, error)
	// Why says what the execution waits for, and what happens next by itself.
	Why(ctx context.Context, id execution.ID) (execution.Why, error)
	// Fork submits an execution that goes on from a checkpoint of this one, in a conversation of its own. key is as in Create.
	Fork(ctx context.Context, id execution.ID, key string, request execution.ForkRequest) (execution.Created, error)
	// Release takes the claim from the execution's holder, which can write nothing from then on, and makes the step runnable
	// again. It needs role operate. Without a claim it changes nothing; on one that has ended it is ErrExecutionEnded.
	Release(ctx context.Context, id execution.ID) (execution.Steered, error)
	// Delete deletes an execution that has ended, with all that only it needs; one that has not is ErrConflict. Its
	// idempotency key answers ErrGone for as long as it would have been kept.
	Delete(ctx context.Context, id execution.ID) error
	// Bulk cancels or resumes the executions that pass a filter, as many as one call may.
	Bulk(ctx context.Context, request execution.BulkRequest) (execution.BulkResult, error)
	// FollowAll streams the events and frames, from now on, of the executions that the caller may see as List has it. It
	// replays nothing. The stream lives until it is closed or ctx ends; one that is read too slowly ends with ErrOverloaded:
	// list what was updated since, and follow again.
	FollowAll(ctx context.Context) (execution.Stream, error)
	// Agents lists the agents that may be named in Create, by id.
	Agents(ctx context.Context) ([]execution.AgentSummary, error)
}

// Bounds of a link.
const (
	DefaultLimit = 100
	MaxLimit     = 1000
	MaxWait      = 60 * time.Second
)
