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
	return inspection, r.err
}

// Oldest reads the beginning of each partition's index of the state. See journal.Inspector.
func (s *Store) Oldest(ctx context.Context, tenant string, state execution.State) (journal.ListMark, bool, error) {
	mark, found, err := s.oldest(ctx, tenant, state)
	if err != nil {
		return journal.ListMark{}, false, refusal("oldest", string(state), err)
	}
	return mark, found, nil
}

func (s *Store) oldest(ctx context.Context, tenant string, state execution.State) (oldest journal.ListMark, found bool, err error) {
	if err := journal.CheckOldest(tenant, state); err != nil {
		return oldest, false, err
	}
	firsts := make([]*redis.ZSliceCmd, execution.Partitions)
	_, err = s.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for p := range execution.Partition(execution.Partitions) {
			firsts[p] = pipe.ZRangeWithScores(ctx, s.keys.tenant(p, tenant, state), 0, 0)
		}
		return nil
	})
	if err != nil {
		return oldest, false, err
	}
	for p, first := range firsts {
		for _, entry := range first.Val() {
			tail, _ := entry.Member.(string)
			mark := journal.ListMark{
				CreatedAtMs: int64(entry.Score), ID: execution.ID("exec_" + execution.Partition(p).Tag()[1:] + tail),
			}
			if !found || oldest.Before(mark) {
				oldest, found = mark, true
			}
		}
	}
	return oldest, found, nil
}
