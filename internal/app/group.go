package app

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// task is one long-running part. It returns when ctx ends, after it has stopped in order.
type task func(ctx context.Context) error

// idle is a task that has nothing to do.
func idle(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// together runs the tasks until one of them returns or ctx ends, ends the others, and waits for all of them. The error
// is the first one.
func together(ctx context.Context, tasks ...task) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group errgroup.Group
	for _, run := range tasks {
		group.Go(func() error {
			defer cancel()
			return run(ctx)
		})
	}
	return group.Wait()
}
