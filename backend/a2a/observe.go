package a2a

import (
	"context"
	"errors"
	"net/http"

	"github.com/a2aproject/a2a-go/a2a"

	"github.com/pawl-run/pawl/internal/a2arpc"
)

// observe is the task as it is now, after watching it for a while where that is wanted and the remote has streams. A stream
// only says when to look: what counts is the task that the remote then gives.
func (c *call) observe(ctx context.Context) (*a2a.Task, error) {
	if c.settings.stream {
		c.watch(ctx)
	}
	return c.get(ctx)
}

// get asks for the task. Errors are of the kinds that a repeat may mend.
func (c *call) get(ctx context.Context) (*a2a.Task, error) {
	agent, err := c.peer(ctx)
	if err != nil {
		return nil, err
	}
	ctx, over := c.request(ctx, a2arpc.Get)
	history := historyOfAnswers
	task, err := agent.transport.GetTask(ctx, &a2a.TaskQueryParams{ID: c.handle.TaskID, HistoryLength: &history})
	over(err)
	if err != nil {
		return nil, repeatable(c.settings.failure(err))
	}
	return task, nil
}

// watch returns when the task no longer works by itself, when its time to watch is over, or when there is nothing to watch.
func (c *call) watch(ctx context.Context) {
	agent, err := c.peer(ctx)
	if err != nil || !agent.streams || agent.streamless.Load() {
		return
	}
	ctx, over := c.asking(ctx, a2arpc.Resubscribe)
	watching, done := context.WithTimeout(ctx, min(c.settings.observe, max(c.handle.left(c.settings, c.cfg.Now()), 0)))
	defer done()
	err = c.events(watching, agent)
	if watching.Err() != nil && ctx.Err() == nil { // its time to watch is over
		err = nil
	}
	over(err)
	if err != nil {
		agent.streamless.Store(agent.streamless.Load() || streamless(err))
		c.noteStranger(ctx, err)
	}
}

// events reads the task's stream as far as watch wants to.
func (c *call) events(ctx context.Context, agent *peer) error {
	for event, err := range agent.transport.ResubscribeToTask(ctx, &a2a.TaskIDParams{ID: c.handle.TaskID}) {
		if err != nil {
			return err
		}
		switch event := event.(type) {
		case *a2a.Task:
			if !working(event.Status.State) {
				return nil
			}
		case *a2a.TaskStatusUpdateEvent:
			if !working(event.Status.State) {
				return nil
			}
		case *a2a.TaskArtifactUpdateEvent:
		default:
			return nil
		}
	}
	return nil
}

// noteStranger logs what a stream brought that is not the run's: the look that follows goes on without it.
func (c *call) noteStranger(ctx context.Context, err error) {
	if stranger := new(strangerError); errors.As(err, &stranger) {
		c.cfg.Logger.WarnContext(ctx, "a stream of a remote agent was left", "agentId", c.agentID, "runId", c.handle.Run,
			"error", c.settings.failure(err))
	}
}

// streamless reports whether the remote says that it has no streams, whatever its card says.
func streamless(err error) bool {
	var status *statusError
	if errors.As(err, &status) {
		return status.status == http.StatusNotFound || status.status == http.StatusMethodNotAllowed ||
			status.status == http.StatusNotImplemented
	}
	return refused(err, a2arpc.NoMethod, a2arpc.Unsupported)
}
