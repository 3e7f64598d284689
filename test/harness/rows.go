package harness

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/execution"
)

// RowKey is the key of an execution's row, as the design's key table has it.
func RowKey(id execution.ID) string {
	return fmt.Sprintf("pawl:{%s}:x:%s", id.Partition().Tag(), id)
}

// Holder is what a row says about who may work on it.
type Holder struct {
	Step   string
	Fence  string // counter of the newest claim, also after it has ended
	Worker string // empty when nobody holds it
	Node   string // boundary of the newest checkpoint: the node after it is at work
}

// Holder reads the row's holder; the zero value when there is no such row.
func (s *Stack) Holder(id execution.ID) Holder {
	s.tb.Helper()
	values, err := s.Redis.HMGet(context.Background(), RowKey(id), "step", "fenceCounter", "worker", "node").Result()
	if err != nil {
		s.tb.Fatalf("read the holder of %s: %v", id, err)
	}
	return holderOf(values)
}

func holderOf(values []any) Holder {
	text := func(i int) string {
		value, _ := values[i].(string) // nil: the row has no such field
		return value
	}
	return Holder{Step: text(0), Fence: text(1), Worker: text(2), Node: text(3)}
}

// Holders reads the holders of many rows in one round trip.
func (s *Stack) Holders(ids []execution.ID) ([]Holder, error) {
	ctx := context.Background()
	replies := make([]*redis.SliceCmd, len(ids))
	_, err := s.Redis.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, id := range ids {
			replies[i] = pipe.HMGet(ctx, RowKey(id), "step", "fenceCounter", "worker", "node")
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read holders: %w", err)
	}
	holders := make([]Holder, len(ids))
	for i, reply := range replies {
		holders[i] = holderOf(reply.Val())
	}
	return holders, nil
}

// NextClaim polls until a claim with another fence than the given one is taken, or the first claim of all where the given
// one is empty, and sends when it was seen. A row that has ended keeps no fence: whoever ended it had claimed it, perhaps
// between two looks. The channel is closed without a value when that takes longer than limit.
func (s *Stack) NextClaim(id execution.ID, fence string, limit time.Duration) <-chan time.Time {
	seen := make(chan time.Time, 1)
	go func() {
		defer close(seen)
		Poll(limit, func() bool {
			got, err := s.Redis.HGet(context.Background(), RowKey(id), "fenceCounter").Result()
			ended := errors.Is(err, redis.Nil) && s.ended(id)
			if !ended && (err != nil || got == fence || got == "0" && fence == "") {
				return false
			}
			seen <- time.Now()
			return true
		})
	}()
	return seen
}

func (s *Stack) ended(id execution.ID) bool {
	state, err := s.Redis.HGet(context.Background(), RowKey(id), "state").Result()
	return err == nil && execution.State(state).Terminal()
}

// Checkpoints reads the execution's checkpoints as they are stored, without their times.
func (s *Stack) Checkpoints(id execution.ID) []string {
	s.tb.Helper()
	step, err := s.Redis.HGet(context.Background(), RowKey(id), "step").Int64()
	if err != nil {
		s.tb.Fatalf("read the step of %s: %v", id, err)
	}
	// Behind the last checkpoint stand the long fields of a row that has ended.
	list, err := s.Redis.LRange(context.Background(), RowKey(id)+":checkpoints", 0, step).Result()
	if err != nil {
		s.tb.Fatalf("read the checkpoints of %s: %v", id, err)
	}
	for i, entry := range list {
		_, list[i], _ = strings.Cut(entry, " ")
	}
	return list
}

// Standing counts Asynq's tasks by state, over all queues.
func (s *Stack) Standing() map[string]int64 {
	s.tb.Helper()
	ctx := context.Background()
	queues, err := s.Redis.SMembers(ctx, "asynq:queues").Result()
	if err != nil {
		s.tb.Fatalf("read Asynq's queues: %v", err)
	}
	counts := map[string]int64{}
	for _, queue := range queues {
		for _, state := range []string{"pending", "active"} {
			n, err := s.Redis.LLen(ctx, "asynq:{"+queue+"}:"+state).Result()
			if err != nil {
				s.tb.Fatalf("count Asynq's tasks: %v", err)
			}
			counts[state] += n
		}
		for _, state := range []string{"scheduled", "retry", "archived", "completed"} {
			n, err := s.Redis.ZCard(ctx, "asynq:{"+queue+"}:"+state).Result()
			if err != nil {
				s.tb.Fatalf("count Asynq's tasks: %v", err)
			}
			counts[state] += n
		}
	}
	return counts
}

// Sum adds the counts.
func Sum(counts map[string]int64) int64 {
	var total int64
	for _, n := range counts {
		total += n
	}
	return total
}

// Refusals is how often Redis has answered with the named refusal since its start.
func (s *Stack) Refusals(code string) int {
	s.tb.Helper()
	return s.stat("errorstats", "errorstat_"+code, "count=%d")
}

// Calls is how often Redis has carried out the command since its start.
func (s *Stack) Calls(command string) int {
	s.tb.Helper()
	return s.stat("commandstats", "cmdstat_"+command, "calls=%d,")
}

func (s *Stack) stat(section, name, format string) int {
	s.tb.Helper()
	info, err := s.Redis.InfoMap(context.Background(), section).Result()
	if err != nil {
		s.tb.Fatalf("info %s: %v", section, err)
	}
	for _, values := range info {
		if value, ok := values[name]; ok {
			n := 0
			if _, err := fmt.Sscanf(value, format, &n); err != nil {
				s.tb.Fatalf("info %s: %s is %q: %v", section, name, value, err)
			}
			return n
		}
	}
	return 0
}

// RestartRedis kills the redis-server and starts it again on the same data.
func (s *Stack) RestartRedis() {
	s.tb.Helper()
	s.Server.Kill()
	s.Server.Restart(s.tb)
	Eventually(s.tb, readyTimeout, "Redis answers again", func() bool {
		err := s.Redis.Ping(context.Background()).Err()
		return err == nil || errors.Is(err, redis.Nil)
	})
}

// Received is how many bytes Redis has been sent since its start.
func (s *Stack) Received() int64 {
	s.tb.Helper()
	return int64(s.stat("stats", "total_net_input_bytes", "%d"))
}
