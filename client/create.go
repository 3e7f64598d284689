package client

import (
	"context"
	"crypto/rand"
	"net/http"

	"github.com/pawl-run/pawl/execution"
)

// Create submits an execution; see link.RuntimeLink. It is repeated when the answer is lost, and makes one execution even
// then: with an empty key the client makes one up for this call, and Replayed is false.
func (c *Client) Create(
	ctx context.Context, key string, request execution.CreateRequest,
) (execution.Created, error) {
	return c.create(ctx, "/v1/executions", key, request)
}

// Fork submits an execution that goes on from a checkpoint of this one; see link.RuntimeLink. It is repeated as Create is.
func (c *Client) Fork(
	ctx context.Context, id execution.ID, key string, request execution.ForkRequest,
) (execution.Created, error) {
	return c.create(ctx, executionPath(id, "/fork"), key, request)
}

func (c *Client) create(ctx context.Context, path, key string, request any) (execution.Created, error) {
	minted := key == ""
	if minted {
		key = "client-" + rand.Text()
	}
	var created execution.Created
	answer, err := c.do(ctx, call{
		method: http.MethodPost, path: path, body: request, header: http.Header{"Idempotency-Key": {key}}, repeat: true,
	}, &created.View)
	// The replay of a key that nobody else knows is the answer that was lost.
	created.Replayed = err == nil && !minted && answer.Header.Get("Idempotency-Replayed") == "true"
	return created, err
}
