package client

import (
	"context"
	"errors"
	"net/http"

	"github.com/pawl-run/pawl/execution"
)

// SubmitInput answers the open interaction. It is repeated when the answer is lost: the operation id makes that safe.
func (c *Client) SubmitInput(
	ctx context.Context, id execution.ID, input execution.SubmitInput,
) (execution.View, error) {
	return c.view(ctx, call{
		method: http.MethodPost, path: executionPath(id, "/input"), body: input, repeat: true,
	})
}

// Cancel ends the execution, or asks its holder to.
func (c *Client) Cancel(ctx context.Context, id execution.ID) (execution.Steered, error) {
	return c.steer(ctx, call{path: executionPath(id, "/cancel"), repeat: true})
}

// Pause suspends the execution; a running one when the node in flight has ended.
func (c *Client) Pause(ctx context.Context, id execution.ID) (execution.Steered, error) {
	return c.steer(ctx, call{path: executionPath(id, "/pause"), repeat: true})
}

// Resume takes a suspended execution back to where it was.
func (c *Client) Resume(
	ctx context.Context, id execution.ID, request execution.ResumeRequest,
) (execution.Steered, error) {
	return c.steer(ctx, call{path: executionPath(id, "/resume"), body: request, repeat: true})
}

// Release takes the claim from the execution's holder; see link.RuntimeLink. It is not repeated when its answer is lost: by
// then another worker may hold the execution, and would be taken from its work. Ask Why first.
func (c *Client) Release(ctx context.Context, id execution.ID) (execution.Steered, error) {
	return c.steer(ctx, call{path: executionPath(id, "/release")})
}

// steer sends a command. When it is repeated because the answer was lost, the command may have changed something although
// the answer says that it did not.
func (c *Client) steer(ctx context.Context, call call) (execution.Steered, error) {
	call.method = http.MethodPost
	var steered execution.Steered
	answer, err := c.do(ctx, call, &steered.View)
	steered.Changed = err == nil && answer.StatusCode == http.StatusAccepted
	return steered, err
}

// Delete deletes an execution that has ended; see link.RuntimeLink. It is repeated when the answer is lost; that there is no
// such execution is then what was wanted, and no error.
func (c *Client) Delete(ctx context.Context, id execution.ID) error {
	lost := false
	_, err := c.do(ctx, call{
		method: http.MethodDelete, path: executionPath(id, ""), repeat: true,
		failed: func(err error) { lost = lost || errors.Is(err, execution.ErrUnavailable) },
	}, nil)
	if lost && errors.Is(err, execution.ErrNotFound) {
		return nil
	}
	return err
}

// StreamToken gives a token that opens the stream of this one execution, for whoever cannot send a header: a browser opens
// …/events?token=. It is good until ExpiresAtMs.
func (c *Client) StreamToken(ctx context.Context, id execution.ID) (execution.StreamToken, error) {
	var token execution.StreamToken
	_, err := c.do(ctx, call{method: http.MethodPost, path: executionPath(id, "/stream-token"), repeat: true}, &token)
	return token, err
}
