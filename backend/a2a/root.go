package a2a

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/a2a"

	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/internal/a2arpc"
)

const (
	// maxResends is how often a message is sent again whose answer was lost.
	maxResends = 1
	// resendAfter is how long to wait before that.
	resendAfter = time.Second
	// cancelTimeout bounds telling the remote that a run took too long.
	cancelTimeout = 10 * time.Second
)

// call is one call of a run.
type call struct {
	*remote
	handle   handle
	state    *backend.PersistedState // what the call began with
	messages []backend.Message
	latest   []backend.Message
	agentID  string
	// operation names what the call tells the remote; may be empty.
	operation string
}

// ExecuteRoot sends the user's message or looks once at the task that an earlier call began; see the package's table. What is
// new is needed by a call that sends; one that sends the same message again finds it in the transcript. A message to a task of an earlier run that the remote does not take begins a new
// task in the same context.
func (r *remote) ExecuteRoot(ctx context.Context, request backend.RootRunRequest) (backend.RunResult, error) {
	h, own, err := r.readHandle(request)
	if err != nil {
		return backend.RunResult{}, err
	}
	c := &call{
		remote: r, handle: h, state: request.State, agentID: request.AgentID, operation: request.OperationID,
		messages: request.Messages, latest: request.NewMessages,
	}
	switch {
	case own && h.Phase == phaseSending && h.left(r.settings, r.cfg.Now()) <= 0:
		return c.expire(ctx)
	case own && h.Phase == phaseSending:
		return c.send(ctx)
	case own && h.Phase == phaseWorking:
		return c.look(ctx)
	case own && h.Phase == phaseAuth:
		return c.answerAuth(ctx)
	}
	c.begin(h)
	result, err := c.send(ctx)
	if rpc := new(a2arpc.Error); !own && c.handle.Answers && errors.As(err, &rpc) && permanently(err) {
		h.Phase = phaseEnded
		c.begin(h)
		return c.send(ctx)
	}
	return result, err
}

// begin makes the handle that of a new message.
func (c *call) begin(h handle) {
	c.handle = h.next(c.cfg.Now(), c.operation)
	c.handle.From = ""
	if messages := told(c.messages, c.latest, ""); len(messages) > 0 {
		c.handle.From = messages[0].ID
	}
}

func permanently(err error) bool { return local.KindOf(err) == local.Permanent }

// send sends the message of the handle.
func (c *call) send(ctx context.Context) (backend.RunResult, error) {
	parts := userParts(told(c.messages, c.latest, c.handle.From))
	if len(parts) == 0 {
		return backend.RunResult{}, backend.ExecutionFailed(nothingToSendText)
	}
	agent, err := c.peer(ctx)
	if err != nil {
		return backend.RunResult{}, c.ended(ctx, err)
	}
	c.handle.Protocol = agent.version
	answer, err := c.post(ctx, agent, parts)
	if err == nil {
		return c.settle(answer)
	}
	if ctx.Err() != nil {
		return backend.RunResult{}, c.ended(ctx, err)
	}
	failed := c.settings.failure(err)
	if failed.Kind != local.Unknown {
		return backend.RunResult{}, asError(failed)
	}
	if c.handle.Resends >= maxResends {
		return backend.RunResult{}, asError(permanent(CodeOutcomeUnknown,
			"a message was sent twice, and nobody knows what became of it: "+failed.Message))
	}
	c.handle.Resends++
	wait := min(max(failed.RetryAfter, resendAfter), c.handle.left(c.settings, c.cfg.Now()))
	return c.awaiting(phaseSending, max(wait, time.Millisecond))
}

// post sends the message, and waits a little for the answer when ctx ends.
func (c *call) post(ctx context.Context, agent *peer, parts a2a.ContentParts) (a2a.SendMessageResult, error) {
	asked, over := c.asking(ctx, a2arpc.Send)
	outliving, end := context.WithCancelCause(context.WithoutCancel(asked))
	defer end(nil)
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(c.cfg.SendGrace, func() { end(context.Cause(ctx)) })
	})
	defer stop()
	bounded, done := c.settings.within(outliving, c.settings.request)
	defer done()
	answer, err := agent.transport.SendMessage(bounded, c.handle.params(parts))
	over(err)
	return answer, err
}

// ended is the error of a call: the context's cause when that has ended.
func (c *call) ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("remote run %s: %w", c.handle.Run, context.Cause(ctx))
	}
	return asError(c.settings.failure(err))
}

// settle makes a result of the answer to a message.
func (c *call) settle(answer a2a.SendMessageResult) (backend.RunResult, error) {
	switch answer := answer.(type) {
	case *a2a.Task:
		return c.result(answer)
	case *a2a.Message:
		c.handle.TaskID = ""
		if answer.ContextID != "" {
			c.handle.ContextID = answer.ContextID
		}
		return c.end(backend.CompletedStatus(), backend.TerminationReason{Kind: backend.NaturalEnd}, messageOutput(answer))
	}
	return backend.RunResult{}, asError(permanent(CodeMalformed, "the remote agent answered with neither a task nor a message"))
}

// look asks once about the task.
func (c *call) look(ctx context.Context) (backend.RunResult, error) {
	c.handle.Looks++
	task, err := c.observe(ctx)
	late := c.handle.left(c.settings, c.cfg.Now()) <= 0
	switch {
	case err != nil && ctx.Err() != nil:
		return backend.RunResult{}, c.ended(ctx, err)
	case err != nil && late && !permanently(err):
		return c.expire(ctx)
	case err != nil:
		return backend.RunResult{}, asError(c.settings.failure(err))
	case late && working(task.Status.State):
		return c.expire(ctx)
	}
	return c.result(task)
}

// answerAuth sends what the user said about credentials, unless the task has gone on by itself.
func (c *call) answerAuth(ctx context.Context) (backend.RunResult, error) {
	task, err := c.get(ctx)
	if err != nil {
		return backend.RunResult{}, c.ended(ctx, err)
	}
	if state := task.Status.State; state != a2a.TaskStateAuthRequired && state != a2a.TaskStateInputRequired {
		c.handle.SentAtMs = c.cfg.Now().UnixMilli() // the remote goes on from here
		return c.result(task)
	}
	c.begin(c.handle)
	return c.send(ctx)
}

// expire ends a run that took too long, and tells the remote. An answer that came meanwhile counts.
func (c *call) expire(ctx context.Context) (backend.RunResult, error) {
	if c.handle.TaskID != "" {
		ctx, done := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
		defer done()
		task, err := c.cancel(ctx, c.handle.TaskID)
		if err == nil && task.Status.State == a2a.TaskStateCompleted {
			return c.result(task)
		}
		if err != nil {
			c.cfg.Logger.WarnContext(ctx, "a remote run took too long, and its remote could not be told", "agentId", c.agentID,
				"runId", c.handle.Run, "error", c.settings.failure(err))
		}
	}
	reason := timeoutWord
	result, err := c.end(backend.TimeoutStatus(), backend.TerminationReason{Kind: backend.Stopped, Detail: timeoutWord}, backend.RunOutput{})
	result.StatusReason = &reason
	return result, err
}
