package redisjournal

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Inspect returns a row and what stands beside it. See journal.Inspector.
func (s *Store) Inspect(ctx context.Context, id execution.ID) (journal.Inspection, error) {
	r, err := newReply(s.run(ctx, s.scripts.inspect, id))
	if err != nil {
		return journal.Inspection{}, refusal("inspect", string(id), err)
	}
	inspection, err := decodeInspection(r)
	if err != nil {
		return journal.Inspection{}, refusal("inspect", string(id), err)
	}
	return inspection, nil
}

func decodeInspection(r *reply) (inspection journal.Inspection, err error) {
	if inspection.Execution, err = decodeRow(r); err != nil {
		return inspection, err
	}
	if tasks := r.tasks(5); len(tasks) > 0 {
		inspection.Task, inspection.RunnableAtMs = &tasks[0], int64(r.count(6))
	}
	inspection.NowMs, inspection.LookAtMs = r.number(7), int64(r.count(8))
	inspection.ActiveID, inspection.Ahead = execution.ID(r.text(9)), int(r.number(10))
	inspection.CleanupAtMs = int64(r.count(11))
	return inspection, r.err
}

// Count reads the length and the beginning of each partition's index of each state. See journal.Inspector.
func (s *Store) Count(ctx context.Context, tenant string) (journal.Counts, error) {
	if err := journal.CheckCount(tenant); err != nil {
		return nil, refusal("count", "", err)
	}
	var read []counted
	_, err := s.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for p := range execution.Partition(execution.Partitions) {
			read = append(read, counted{partition: p, count: pipe.ZCard(ctx, s.keys.tenant(p, tenant, ""))})
			for _, state := range execution.States() {
				read = append(read, s.counted(ctx, pipe, p, tenant, state))
			}
		}
		return nil
	})
	if err != nil {
		return nil, refusal("count", "", err)
	}
	return total(read), nil
}

// CountOutside reads the length of each partition's index of such executions. See journal.Inspector.
func (s *Store) CountOutside(ctx context.Context) (int64, error) {
	lengths := make([]*redis.IntCmd, execution.Partitions)
	_, err := s.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for p := range execution.Partition(execution.Partitions) {
			lengths[p] = pipe.ZCard(ctx, s.keys.outside(p))
		}
		return nil
	})
	if err != nil {
		return 0, refusal("count outside", "", err)
	}
	sum := int64(0)
	for _, length := range lengths {
		sum += length.Val()
	}
	return sum, nil
}

// counted is what is read of one index. Without a state it is that of all executions.
type counted struct {
	partition execution.Partition
	state     execution.State
	count     *redis.IntCmd
	first     *redis.ZSliceCmd // of an open state
}

// counted asks for the index of a state. Completed has none.
func (s *Store) counted(
	ctx context.Context, pipe redis.Pipeliner, p execution.Partition, tenant string, state execution.State,
) counted {
	c := counted{partition: p, state: state}
	if state == execution.Completed {
		return c
	}
	key := s.keys.tenant(p, tenant, state)
	c.count = pipe.ZCard(ctx, key)
	if !state.Terminal() {
		c.first = pipe.ZRangeWithScores(ctx, key, 0, 0)
	}
	return c
}

// total adds the partitions up. Those that have completed are the ones in no index of a state.
func total(read []counted) journal.Counts {
	counts := make(journal.Counts)
	var completed int64
	for _, c := range read {
		switch {
		case c.count == nil:
			continue
		case c.state == "":
			completed += c.count.Val()
			continue
		}
		completed -= c.count.Val()
		count := counts[c.state]
		count.Executions += c.count.Val()
		if mark, found := c.mark(); found && (count.Oldest == nil || count.Oldest.Before(mark)) {
			count.Oldest = &mark
		}
		counts[c.state] = count
	}
	counts[execution.Completed] = journal.Count{Executions: max(0, completed)}
	return counts
}

// mark is the place of the index's first execution.
func (c counted) mark() (journal.ListMark, bool) {
	if c.first == nil || len(c.first.Val()) == 0 {
		return journal.ListMark{}, false
	}
	entry := c.first.Val()[0]
	tail, _ := entry.Member.(string)
	return journal.ListMark{
		CreatedAtMs: int64(entry.Score), ID: execution.ID("exec_" + c.partition.Tag()[1:] + tail),
	}, true
}
