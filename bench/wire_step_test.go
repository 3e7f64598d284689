package bench

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/internal/redistest"
)

// A step of an execution alone is three round trips when the first queue that is looked at has its task: dequeue, claim, and
// commit with the enqueue of the next one. Its end (Asynq's done) rides along with one of the next, or is a fourth one when
// none comes soon. Each receipt is one more.
func TestRoundTripsOfAWholeStepAreExact(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	const turns, steps = 5, 5*5 + 5
	l, err := prepare(Spec{
		Kind: pawl, URL: redistest.Start(t).URL(), Concurrency: 8, NodesPerTask: 1, Agent: toolAgent, Turns: turns,
		ResultBytes: 1024, Detailed: true,
	})
	require.NoError(t, err)
	seen := &wire{}
	l.rdb.AddHook(seen)
	require.NoError(t, l.serve())
	require.NoError(t, l.begin(ctx))
	t.Cleanup(func() { require.NoError(t, l.Close(context.Background())) })

	// run runs an execution to the end of its last task.
	run := func() (trips, commands map[string]int) {
		trips, commands = map[string]int{}, map[string]int{}
		id, err := l.submit(ctx, toolAgent)
		require.NoError(t, err)
		require.NoError(t, l.awaitEnd(ctx, id))
		require.NoError(t, poll(ctx, time.Millisecond, func() (bool, error) {
			l.countTrips(seen.take(), trips, commands)
			return commands["asynq done"] >= steps, nil
		}))
		return trips, commands
	}
	run() // scripts and definition are there
	trips, commands := run()
	require.Equal(t, steps, commands["asynq done"])
	require.LessOrEqual(t, trips["asynq done"], steps)
	delete(trips, "asynq done")
	require.Equal(t, map[string]int{
		"asynq dequeue": steps, "claim": steps, "commit": steps, "record": turns,
		"submit": 1, "asynq task": 1, // the submission and its task
	}, trips)
}

// countTrips counts round trips by what the first command is for, and their commands: ends of tasks by themselves, the others
// by that, too. It leaves out those that are no step's: the greeting of connections, frames, waiting for wake-ups of other processes, and what Asynq does by the clock.
func (l *pawlLoad) countTrips(seen [][]command, trips, commands map[string]int) {
	beside := []string{
		"hello", "client", "ping", "subscribe", "publish", "blpop", "unlink", // the last one takes old wake-ups before blpop
		"set", "sadd", "srem", "zadd", "zrem", "zrangebyscore", "del", "asynq forward", "script on lease",
		"hmget", "info", // requests of claims and the memory, which are looked at by the clock
		"", // a script that was not sent before: no step's
	}
	scripts := l.meter.scriptNames()
	for _, trip := range seen {
		first := trip[0].begin
		name, key := first[0], first[len(first)-1]
		switch {
		case strings.Contains(key, "}:t:"):
			name = "asynq task"
		case strings.HasSuffix(key, "}:active") && strings.EqualFold(name, "evalsha"):
			name = "asynq done"
		case len(first) == 1 && name == "eval":
			name = "" // its source is longer than what a connection writes at once
		case strings.EqualFold(name, "evalsha"), strings.EqualFold(name, "eval"):
			name = strings.TrimSuffix(scripts[first[1]], " and enqueue")
		}
		if !slices.Contains(beside, name) {
			trips[name]++
		}
		for _, one := range trip {
			if n := ends(one); n > 0 {
				commands["asynq done"] += n
			} else {
				commands[name]++
			}
		}
	}
}

// ends is how many tasks a command ends. A script that ends several has four keys and three arguments in front of their ids.
func ends(c command) int {
	switch {
	case len(c.begin) < 4 || !strings.EqualFold(c.begin[0], "evalsha") || !strings.HasSuffix(c.begin[3], "}:active"):
		return 0
	case c.begin[2] == "4":
		return c.words - 3 - 4 - 3
	default:
		return 1
	}
}
