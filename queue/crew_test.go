package queue

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

func TestCrewWaitsForNobodyAndEndsWithTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const many = 20
		stop, hold := make(chan struct{}), make(chan struct{})
		odd := errors.New("odd")
		c := newCrew(func(task execution.Task) error {
			<-hold
			if task.Step%2 == 1 {
				return odd
			}
			return nil
		}, stop)
		var all sync.WaitGroup
		for i := range many {
			all.Go(func() {
				err := c.do(execution.Task{Step: execution.Step(i)})
				require.Equal(t, i%2 == 1, errors.Is(err, odd), "each gets the error of its own task")
			})
		}
		synctest.Wait() // all are at work at once
		close(hold)
		all.Wait()
		synctest.Wait()
		for range many { // now by those that stayed
			require.NoError(t, c.do(execution.Task{}))
		}
		close(stop)
		c.all.Wait()
		require.NoError(t, c.do(execution.Task{}), "also while the server drains")
		c.all.Wait()
	})
}
