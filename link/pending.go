package link

import (
	"context"

	"github.com/pawl-run/pawl/execution"
)

// The calls of RuntimeLink that this version refuses.

func notYet(call string) error {
	return execution.NewAPIError(execution.Internal, "%s is not there yet", call)
}

// Fork implements RuntimeLink.
func (*session) Fork(_ context.Context, _ execution.ID, _ string, _ execution.ForkRequest) (execution.Created, error) {
	return execution.Created{}, notYet("fork")
}
