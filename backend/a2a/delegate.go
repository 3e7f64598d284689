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

// maxFailedLooks is how many requests in a row may fail while a delegate is waited for.
const maxFailedLooks = 5

// ExecuteDelegate sends the message and waits for what becomes of it, until ctx ends: then the remote is told to cancel. Two
// calls for the same call of the same parent send messages with the same id. A delegate has no context of its own.
func (r *remote) ExecuteDelegate(ctx context.Context, request backend.DelegateRunRequest) (backend.RunResult, error) {
	c := &call{
		remote: r, agentID: request.AgentID, handle: delegateHandle(request.Parent, r.cfg.Now()),
		messages: request.Messages, latest: request.NewMessages,
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if request.Control.Canceled != nil {
		go func() {
			select {
			case <-request.Control.Canceled:
				stop(errCanceled)
			case <-ctx.Done():
			}
		}()
	}
	result, err := c.wait(ctx)
	if ctx.Err() == nil {
		return result, err
	}
	c.giveUp(ctx)
	if errors.Is(context.Cause(ctx), errCanceled) {
		return c.end(backend.CanceledStatus(), backend.TerminationReason{Kind: backend.TermCanceled}, backend.RunOutput{})
	}
	return backend.RunResult{}, fmt.Errorf("delegate %s: %w", request.AgentID, context.Cause(ctx))
}

var errCanceled = errors.New("the delegate was canceled")

// delegateHandle is a handle whose message's id follows from the call that the delegate is for.
func delegateHandle(parent backend.ParentContext, now time.Time) handle {
	h := handle{V: handleVersion, Run: parent.ParentRunID, SentAtMs: now.UnixMilli(), Messages: 1}
	h.MessageID = a2a.NewMessageID()
	if parent.ParentRunID != "" && parent.ParentCallID != "" {
		h.MessageID = string(parent.ParentRunID) + "." + string(parent.ParentCallID)
	}
	return h
}

// wait leads the delegate to its end or to a question.
func (c *call) wait(ctx context.Context) (backend.RunResult, error) {
	result, err := c.send(ctx)
	for failures := 0; ctx.Err() == nil; {
		wait := result.After
		switch {
		case err == nil && (result.StatusReason == nil || *result.StatusReason != backend.AwaitingTasks):
			return result, nil
		case err == nil:
			failures = 0
		case failures+1 >= maxFailedLooks || local.KindOf(err) != local.Transient:
			return result, err
		default:
			failures++
			wait = max(wish(err), firstLook<<failures)
		}
		if !sleep(ctx, wait) {
			break
		}
		if c.handle.TaskID == "" { // it is still to be sent
			result, err = c.send(ctx)
		} else {
			result, err = c.look(ctx)
		}
	}
	return result, err
}

func wish(err error) time.Duration {
	var failed *local.Error
	if errors.As(err, &failed) {
		return failed.RetryAfter
	}
	return 0
}

// sleep reports whether the time passed before ctx ended.
func sleep(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// giveUp cancels a task that nobody waits for any more.
func (c *call) giveUp(ctx context.Context) {
	if c.handle.TaskID == "" || c.handle.Phase == phaseEnded {
		return
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
	defer done()
	if _, err := c.cancel(ctx, c.handle.TaskID); err != nil && !refused(err, a2arpc.TaskNotFound, a2arpc.NotCancelable) {
		c.cfg.Logger.WarnContext(ctx, "a remote task that nobody waits for could not be canceled", "agentId", c.agentID,
			"error", c.settings.failure(err))
	}
}
