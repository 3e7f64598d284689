package queue

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/execution"
)

// ErrQueueName reports a queue name that cannot be part of a Redis key or of the dashboard's routes.
var ErrQueueName = errors.New("malformed queue name")

// checkName returns ErrQueueName unless name is 1 to 64 characters of [A-Za-z0-9._-].
func checkName(name string) error {
	good := len(name) >= 1 && len(name) <= 64
	for i := 0; i < len(name) && good; i++ { // every enqueue comes by: no regular expression
		c := name[i]
		good = 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-'
	}
	if !good {
		return fmt.Errorf("%w %q: want 1 to 64 characters of A-Z a-z 0-9 . _ -", ErrQueueName, name)
	}
	return nil
}

// DefaultQueues are the queues a worker serves unless told otherwise, with their weights. A server draws among the queues
// that hold tasks by weight, so none starves. A queue of new executions yields to those of started ones with the same or a
// higher weight, but for one task in fifty.
func DefaultQueues() map[string]int {
	return map[string]int{
		execution.High.Queue():                         30,
		execution.High.Queue() + execution.NewSuffix:   6,
		execution.Normal.Queue():                       12,
		execution.Normal.Queue() + execution.NewSuffix: 3,
		execution.Low.Queue():                          4,
		execution.Low.Queue() + execution.NewSuffix:    1,
	}
}

// Asynq's keys. A golden test holds them against the pinned version.
const allQueuesKey = "asynq:queues"

func queueKey(queue, tail string) string { return "asynq:{" + queue + "}:" + tail }
func pendingKey(queue string) string     { return queueKey(queue, "pending") }
func pausedKey(queue string) string      { return queueKey(queue, "paused") }
func activeKey(queue string) string      { return queueKey(queue, "active") }
func leaseKey(queue string) string       { return queueKey(queue, "lease") }
func scheduledKey(queue string) string   { return queueKey(queue, "scheduled") }
func retryKey(queue string) string       { return queueKey(queue, "retry") }
func archivedKey(queue string) string    { return queueKey(queue, "archived") }
func completedKey(queue string) string   { return queueKey(queue, "completed") }
func taskKeyPrefix(queue string) string  { return queueKey(queue, "t:") }
func taskKey(queue, id string) string    { return taskKeyPrefix(queue) + id }
func lookKeys(queue string) []string {
	return []string{pendingKey(queue), pausedKey(queue), activeKey(queue), leaseKey(queue)}
}
func queueOf(key string) string            { return between(key, "{", "}") }
func tokenKey(prefix, queue string) string { return prefix + ":{wake}:" + queue }
func workersKey(prefix string) string      { return prefix + ":workers" }
func workerKey(prefix, id string) string   { return prefix + ":worker:" + id }
func holdingKey(prefix, id string) string  { return workerKey(prefix, id) + ":holding" }
func bellKey(prefix, server string) string { return prefix + ":{wake}:bell:" + server }
func between(s, open, closing string) string {
	_, rest, _ := strings.Cut(s, open)
	inside, _, _ := strings.Cut(rest, closing)
	return inside
}

// script is a kind of Asynq script, recognized by its keys: the same for EVALSHA and EVAL.
type script int

const (
	otherScript   script = iota
	enqueueScript        // t:<id>, pending
	lookScript           // pending, paused, active, lease: Asynq's dequeue
	forwardScript        // scheduled or retry, pending
	retryScript          // t:<id>, active, lease, retry, …
	endScript            // done, complete, requeue (active, lease, …) and archive (t:<id>, active, lease, archived, …)
)

func scriptOf(keys []string) script {
	is := func(i int, tail string) bool { return i < len(keys) && strings.HasSuffix(keys[i], "}:"+tail) }
	task := func(i int) bool { return i < len(keys) && strings.Contains(keys[i], "}:t:") }
	switch {
	case len(keys) == 2 && task(0) && is(1, "pending"):
		return enqueueScript
	case len(keys) == 4 && is(0, "pending") && is(1, "paused"):
		return lookScript
	case len(keys) == 2 && (is(0, "scheduled") || is(0, "retry")) && is(1, "pending"):
		return forwardScript
	case task(0) && is(1, "active") && is(2, "lease") && is(3, "retry"):
		return retryScript
	case is(0, "active") && is(1, "lease"), task(0) && is(1, "active") && is(2, "lease"):
		return endScript
	default:
		return otherScript
	}
}
