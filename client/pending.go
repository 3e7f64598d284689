package client

import (
	"context"

	"github.com/pawl-run/pawl/execution"
)

// FollowAll implements RuntimeLink. This version refuses it.
func (*Client) FollowAll(_ context.Context) (execution.Stream, error) {
	return nil, execution.NewAPIError(execution.Internal, "followall is not there yet")
}
