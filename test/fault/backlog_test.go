//go:build faultpoint

package fault

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

const (
	lookup     = "hstrlen" // the command that only a look-up of a standing task sends, once
	submitters = 16
	talkSteps  = 5 // prepare_model_request, before_model_request, model_response, validate_output, run_complete
)

func TestCaseB12_ABacklogBreedsNoDuplicates(t *testing.T) {
	t.Parallel()
	executions, watch := 1000, 10*time.Second
	if soak() {
		executions, watch = 10_000, time.Minute
	}
	stack := harness.New(t, harness.Config{Agents: talker, Grace: 2 * time.Second})
	api := stack.API()
	stack.Reaper()
	started := time.Now()
	ids := submitMany(t, api, "talker", executions)
	t.Logf("%d executions submitted in %.1f s", executions, time.Since(started).Seconds())

	watchBacklog(t, stack, executions, watch)
	started = time.Now()
	stack.Worker()
	stack.Worker()
	awaitTerminal(t, stack, ids, 10*time.Minute)
	took := time.Since(started)
	t.Logf("workers started: %d executions completed in %.1f s (%.0f steps/s)",
		executions, took.Seconds(), float64(executions*talkSteps)/took.Seconds())
	checkEachStepOnce(t, stack, ids)
	harness.Eventually(t, endTimeout, "no task is left over", func() bool { return harness.Sum(stack.Standing()) == 0 })
}

// watchBacklog checks again and again that exactly one task stands for each execution, and prints what the reaper asks.
func watchBacklog(t *testing.T, stack *harness.Stack, executions int, watch time.Duration) {
	t.Helper()
	harness.Eventually(t, endTimeout, "a task stands for each execution", func() bool {
		return harness.Sum(stack.Standing()) == int64(executions)
	})
	lookups, scripts := stack.Calls(lookup), stack.Calls("evalsha")
	started := time.Now()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for time.Since(started) < watch {
		<-tick.C
		counts := stack.Standing()
		require.Equal(t, int64(executions), harness.Sum(counts), "Asynq holds %v", counts)
	}
	seconds := time.Since(started).Seconds()
	t.Logf("after %.0f s without a worker Asynq holds %v", seconds, stack.Standing())
	t.Logf("the reaper's look-ups per second: %.1f; its scripts per second: %.1f",
		float64(stack.Calls(lookup)-lookups)/seconds, float64(stack.Calls("evalsha")-scripts)/seconds)
}

// submitMany submits n executions, some at a time.
func submitMany(t *testing.T, api *harness.API, agent string, n int) []execution.ID {
	t.Helper()
	ids := make([]execution.ID, n)
	var next atomic.Int64
	group, ctx := errgroup.WithContext(context.Background())
	for range submitters {
		group.Go(func() error {
			for {
				i := next.Add(1) - 1
				if i >= int64(n) {
					return nil
				}
				answer, err := api.TrySubmit(ctx, "", harness.Submission(agent, "Oslo, please"))
				if err != nil {
					return err
				}
				if answer.Status != http.StatusAccepted {
					return &unexpectedAnswer{answer}
				}
				view, err := answer.View()
				if err != nil {
					return err
				}
				ids[i] = view.ID
			}
		})
	}
	require.NoError(t, group.Wait())
	return ids
}

type unexpectedAnswer struct{ answer harness.Answer }

func (e *unexpectedAnswer) Error() string {
	return http.StatusText(e.answer.Status) + ": " + string(e.answer.Body)
}

// awaitTerminal waits until every row has ended.
func awaitTerminal(t *testing.T, stack *harness.Stack, ids []execution.ID, timeout time.Duration) {
	t.Helper()
	open := ids
	harness.Eventually(t, timeout, "every execution ends", func() bool {
		states, err := fields(stack, open, "state")
		if err != nil {
			return false // Redis may be down on purpose
		}
		var still []execution.ID
		for i, state := range states {
			if !execution.State(state).Terminal() {
				still = append(still, open[i])
			}
		}
		open = still
		return len(open) == 0
	})
}

// fields reads one field of many rows in one round trip.
func fields(stack *harness.Stack, ids []execution.ID, field string) ([]string, error) {
	ctx := context.Background()
	replies := make([]*redis.StringCmd, len(ids))
	_, err := stack.Redis.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, id := range ids {
			replies[i] = pipe.HGet(ctx, harness.RowKey(id), field)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	values := make([]string, len(ids))
	for i, reply := range replies {
		values[i] = reply.Val()
	}
	return values, nil
}

// checkEachStepOnce checks that each talker has completed with one checkpoint for each boundary and each event once.
func checkEachStepOnce(t *testing.T, stack *harness.Stack, ids []execution.ID) {
	t.Helper()
	ctx := context.Background()
	states, err := fields(stack, ids, "state")
	require.NoError(t, err)
	lengths := make([][2]*redis.IntCmd, len(ids))
	_, err = stack.Redis.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, id := range ids {
			lengths[i][0] = pipe.LLen(ctx, harness.RowKey(id)+":checkpoints")
			lengths[i][1] = pipe.LLen(ctx, harness.RowKey(id)+":events")
		}
		return nil
	})
	require.NoError(t, err)
	const longFields = 4 // names and values of request and outcome stand behind the last checkpoint
	const talkEvents = 5 // execution_queued, execution_started, model_started, model_completed, execution_completed
	for i, id := range ids {
		require.Equal(t, string(execution.Completed), states[i], "%s", id)
		require.Equal(t, int64(talkSteps+1+longFields), lengths[i][0].Val(), "checkpoints of %s", id)
		require.Equal(t, int64(talkEvents), lengths[i][1].Val(), "events of %s", id)
	}
}
