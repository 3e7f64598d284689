package redisjournal

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// The fields of a push config: <prefix><name>.
const (
	pushConfigField = "config:"
	pushMarkField   = "mark:"
)

// push is a zset: execution -> ms from which on somebody may look at what is to be told of it.
func (k keyspace) push(p execution.Partition) string { return k.partition(p) + "push" }

// pushConfigs is a hash: config:<name> and mark:<name>. Scripts derive it from the row's key.
func (k keyspace) pushConfigs(id execution.ID) string { return k.row(id) + ":push" }

// PutPushConfig stores a config. See journal.PushConfigs.
func (s *Store) PutPushConfig(ctx context.Context, id execution.ID, name string, config []byte, mark string) error {
	if err := journal.CheckPushConfig(name, config, mark); err != nil {
		return refusal("put push config", string(id), err)
	}
	return s.pushes(ctx, "put push config", s.scripts.pushPut, id, true, string(id), name, config, mark, journal.MaxPushConfigs)
}

// DeletePushConfig deletes a config. See journal.PushConfigs.
func (s *Store) DeletePushConfig(ctx context.Context, id execution.ID, name string) error {
	return s.pushes(ctx, "delete push config", s.scripts.pushDelete, id, true, string(id), name)
}

// MarkPushed says what was told last. See journal.PushConfigs.
func (s *Store) MarkPushed(ctx context.Context, id execution.ID, name, mark string) error {
	return s.pushes(ctx, "mark pushed", s.scripts.pushMark, id, false, name, mark)
}

// pushes runs a script over an execution's push configs and, if it needs that, the index.
func (s *Store) pushes(ctx context.Context, operation string, script *script, id execution.ID, index bool, args ...any) error {
	err := checkID(id)
	if err == nil {
		keys := []string{s.keys.row(id), s.keys.pushConfigs(id)}
		if index {
			keys = append(keys, s.keys.push(id.Partition()))
		}
		_, err = s.runKeys(ctx, script, keys, args...)
	}
	if err != nil {
		return refusal(operation, string(id), err)
	}
	return nil
}

// PushConfigs returns an execution's configs and their marks. See journal.PushConfigs.
func (s *Store) PushConfigs(ctx context.Context, id execution.ID) (map[string][]byte, map[string]string, error) {
	fail := func(err error) (map[string][]byte, map[string]string, error) {
		return nil, nil, refusal("push configs", string(id), err)
	}
	if err := checkID(id); err != nil {
		return fail(err)
	}
	if err := ctx.Err(); err != nil {
		return fail(err) // go-redis may still read on a context that has ended
	}
	var there *redis.BoolCmd
	var fields *redis.MapStringStringCmd
	_, err := s.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		there = pipe.HExists(ctx, s.keys.row(id), "state")
		fields = pipe.HGetAll(ctx, s.keys.pushConfigs(id))
		return nil
	})
	switch {
	case err != nil:
		return fail(err)
	case !there.Val():
		return fail(journal.ErrNotFound)
	}
	configs, marks := map[string][]byte{}, map[string]string{}
	for field, value := range fields.Val() {
		if name, is := strings.CutPrefix(field, pushConfigField); is {
			configs[name] = []byte(value)
		} else if name, is := strings.CutPrefix(field, pushMarkField); is {
			marks[name] = value
		}
	}
	return configs, marks, nil
}

// TakePushes asks every partition in one pipeline. See journal.PushConfigs.
func (s *Store) TakePushes(ctx context.Context, limit int, lease time.Duration) ([]execution.ID, error) {
	calls := make([]invocation, execution.Partitions)
	for p := range calls {
		calls[p] = invocation{
			keys: []string{s.keys.push(execution.Partition(p))},
			args: []any{max(0, limit), lease.Milliseconds(), s.now()},
		}
	}
	commands, err := s.pipeline(ctx, s.scripts.pushTake, calls)
	if err != nil {
		return nil, refusal("take pushes", "all", err)
	}
	var taken []execution.ID
	for p, command := range commands {
		r, err := newReply(command.Result())
		if err != nil { // what can be read of one partition does not depend on another
			s.cfg.Logger.WarnContext(ctx, "cannot look for executions to tell of",
				"partition", execution.Partition(p).Tag(), "error", err)
			continue
		}
		for i := range r.items {
			if id, err := execution.ParseID(r.text(i)); err == nil {
				taken = append(taken, id)
			}
		}
	}
	return taken, nil
}

// KeepPushes moves entries of the index. See journal.PushConfigs.
func (s *Store) KeepPushes(ctx context.Context, ids []execution.ID, lease time.Duration) error {
	of := map[execution.Partition][]string{}
	for _, id := range ids {
		if checkID(id) == nil {
			of[id.Partition()] = append(of[id.Partition()], string(id))
		}
	}
	var calls []invocation
	for p, members := range of {
		calls = append(calls, invocation{
			keys: []string{s.keys.push(p)},
			args: []any{lease.Milliseconds(), strings.Join(members, " "), s.now()},
		})
	}
	if len(calls) == 0 {
		return nil
	}
	if _, err := s.pipeline(ctx, s.scripts.pushKeep, calls); err != nil {
		return refusal("keep pushes", "all", err)
	}
	return nil
}

// DropPushes takes an execution out of the index. See journal.PushConfigs.
func (s *Store) DropPushes(ctx context.Context, id execution.ID, mark string) (bool, error) {
	if checkID(id) != nil {
		return true, nil
	}
	keys := []string{s.keys.pushConfigs(id), s.keys.push(id.Partition())}
	dropped, err := s.runKeys(ctx, s.scripts.pushDrop, keys, string(id), mark)
	if err != nil {
		return false, refusal("drop pushes", string(id), err)
	}
	return dropped == int64(1), nil
}
