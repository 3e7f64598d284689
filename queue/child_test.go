package queue

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

// childEnv makes the test binary a worker process: "<address> <prefix>".
const childEnv = "PAWL_TEST_QUEUE_CHILD"

// runChild serves the queue <prefix> until its standard input ends, and pushes "<task id> <arrival, ns>" to <prefix>:seen.
func runChild() int {
	var addr, prefix string
	if _, err := fmt.Sscan(os.Getenv(childEnv), &addr, &prefix); err != nil {
		return 2
	}
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	defer func() { _ = rdb.Close() }() // the process ends
	runner := newSeen(func(ctx context.Context, task execution.Task) error {
		return rdb.RPush(ctx, prefix+":seen", fmt.Sprintf("%s %d", task.ID(), time.Now().UnixNano())).Err()
	})
	server, err := NewServer(rdb, runner, ServerConfig{
		Queues: map[string]int{prefix: 1}, NoSuspect: true, Prefix: prefix, Logger: quiet(),
	})
	if err != nil || server.Start() != nil {
		return 2
	}
	_, _ = fmt.Fprintln(os.Stdout, "ready")           // a parent that is gone ends the child below
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // ends with the parent
	server.Shutdown()
	return 0
}

// startChild starts a worker process for the world's queue; it ends with the test.
func startChild(tb testing.TB, w *world) {
	tb.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+w.rdb.Options().Addr+" "+w.prefix)
	in, err := cmd.StdinPipe()
	require.NoError(tb, err)
	out, err := cmd.StdoutPipe()
	require.NoError(tb, err)
	require.NoError(tb, cmd.Start())
	tb.Cleanup(func() {
		_ = in.Close() // tells the child to end
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(tb, err)
	require.Equal(tb, "ready", strings.TrimSpace(line))
}

// arrival waits for the next task that a child has run.
func arrival(tb testing.TB, w *world) (id string, at time.Time) {
	tb.Helper()
	reply, err := w.rdb.BLPop(context.Background(), deadline, w.prefix+":seen").Result()
	require.NoError(tb, err)
	var ns int64
	_, err = fmt.Sscan(reply[1], &id, &ns)
	require.NoError(tb, err)
	return id, time.Unix(0, ns)
}
