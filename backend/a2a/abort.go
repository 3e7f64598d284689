package a2a

import (
	"context"
	"errors"

	"github.com/a2aproject/a2a-go/a2a"

	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/internal/a2arpc"
)

// Abort tells the remote to cancel the run's task, which it finds in the state: by an earlier process just as well. A task
// that has ended or that the remote does not know is no error; one that goes on after the remote was told is a transient one.
func (r *remote) Abort(ctx context.Context, request backend.AbortRequest) error {
	h, found, err := handleIn(request.State)
	if err != nil {
		return err
	}
	if !found || h.TaskID == "" || h.Phase == phaseEnded {
		return nil
	}
	if request.Parent == nil && h.Run != request.Identity.RunID { // it is an earlier run's
		return nil
	}
	c := &call{remote: r, handle: h, agentID: request.AgentID}
	task, err := c.cancel(ctx, h.TaskID)
	if refused(err, a2arpc.NotCancelable) { // it has ended, or the remote will not
		task, err = c.get(ctx)
	}
	switch {
	case lost(err):
		return nil
	case err != nil:
		return c.ended(ctx, repeatable(r.settings.failure(err)))
	case !task.Status.State.Terminal():
		return asError(&local.Error{
			Kind: local.Transient, Code: CodeNotCanceled, Message: "the remote agent was told to cancel the task, which is " + string(task.Status.State),
		})
	}
	return nil
}

// cancel tells the remote, and is the task as it then is.
func (c *call) cancel(ctx context.Context, id a2a.TaskID) (*a2a.Task, error) {
	agent, err := c.peer(ctx)
	if err != nil {
		return nil, err
	}
	ctx, over := c.request(ctx, a2arpc.Cancel)
	task, err := agent.transport.CancelTask(ctx, &a2a.TaskIDParams{ID: id})
	over(err)
	return task, err
}

// lost reports whether the remote does not know the task.
func lost(err error) bool {
	var failed *local.Error
	return refused(err, a2arpc.TaskNotFound) || errors.As(err, &failed) && failed.Code == CodeTaskLost
}
