package app

import (
	"context"

	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/delegate"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/executor"
)

// inside runs agents inside calls of others. Its loop is set once there is a builder of kits, to which its tools belong.
type inside struct {
	loop *executor.Direct
}

// newInside makes the tools that run agents.
func newInside() (*inside, *delegate.Tools, error) {
	in := &inside{}
	tools, err := delegate.New(delegate.Config{Local: in.run})
	return in, tools, err
}

// use is called before the first tool is.
func (in *inside) use(builder local.Builder, far executor.Remotes, maxDepth int) (err error) {
	in.loop, err = executor.NewDirect(executor.DirectConfig{Builder: builder, Remotes: far, MaxDepth: maxDepth})
	return err
}

func (in *inside) run(ctx context.Context, run delegate.Run) (backend.RunResult, execution.Usage, error) {
	return in.loop.RunDelegate(ctx, run.ID, run.Prompt, run.Grant)
}

// depthOf is what the loop takes for PAWL_MAX_DEPTH, of which 0 says that no agent may call another.
func depthOf(configured int) int {
	if configured == 0 {
		return -1
	}
	return configured
}
