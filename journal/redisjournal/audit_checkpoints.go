package redisjournal

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// AuditCheckpoints looks at the newest checkpoint of each execution that has not ended: the next worker goes on from it. read reads
// one, which is opaque here; its error says what is wrong, and with execution.ErrNewer that a later release wrote it. It goes
// through all executions, a few at a time, and changes nothing. What moves on meanwhile is left out.
func (s *Store) AuditCheckpoints(ctx context.Context, read func(checkpoint []byte) error, report func(journal.Finding)) error {
	a := &checkpointAudit{store: s, read: read, report: report}
	if err := s.eachNode(ctx, a.scan); err != nil {
		return refusal("audit checkpoints", s.keys.prefix, err)
	}
	return nil
}

// checkpointAudit is one pass over the checkpoints of open executions.
type checkpointAudit struct {
	store  *Store
	read   func(checkpoint []byte) error
	report func(journal.Finding)
}

func (a *checkpointAudit) scan(ctx context.Context, node redis.Cmdable) error {
	pattern := globEscape(a.store.keys.prefix) + ":{p*}:" + rowMark + "*:checkpoints"
	for cursor := uint64(0); ; {
		keys, next, err := node.Scan(ctx, cursor, pattern, auditKeys).Result()
		if err != nil {
			return err
		}
		var ids []execution.ID
		for _, key := range keys {
			_, tail, _ := strings.Cut(key, "}:")
			if id, err := execution.ParseID(strings.TrimSuffix(strings.TrimPrefix(tail, rowMark), ":checkpoints")); err == nil {
				ids = append(ids, id)
			}
		}
		for len(ids) > 0 {
			some := ids[:min(len(ids), auditRows)]
			ids = ids[len(some):]
			if err := a.look(ctx, some); err != nil {
				return err
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// standing is where an execution stands, and its newest checkpoint there.
type standing struct {
	version    string // counts what was written to the row
	open       bool
	checkpoint []byte
}

// stand reads where executions stand. A key of another type is left to those who look at rows.
func (a *checkpointAudit) stand(ctx context.Context, ids []execution.ID) ([]standing, error) {
	rows, newest := make([]*redis.SliceCmd, len(ids)), make([]*redis.StringCmd, len(ids))
	_, err := a.store.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, id := range ids {
			rows[i] = pipe.HMGet(ctx, a.store.keys.row(id), "state", "version")
			newest[i] = pipe.LIndex(ctx, a.store.keys.execution(id)[keyCheckpoints], -1)
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) && !redis.HasErrorPrefix(err, "WRONGTYPE") {
		return nil, err
	}
	stands := make([]standing, len(ids))
	for i := range ids {
		fields := rows[i].Val()
		if rows[i].Err() != nil || newest[i].Err() != nil || len(fields) < 2 {
			continue
		}
		state, _ := fields[0].(string) // nil: the row is gone
		stands[i].version, _ = fields[1].(string)
		stands[i].open = state != "" && !execution.State(state).Terminal()
		stands[i].checkpoint = decodeCheckpoint(newest[i].Val()).Data
	}
	return stands, nil
}

func (a *checkpointAudit) look(ctx context.Context, ids []execution.ID) error {
	stands, err := a.stand(ctx, ids)
	if err != nil {
		return err
	}
	for i, id := range ids {
		if !stands[i].open {
			continue
		}
		if wrong := a.read(stands[i].checkpoint); wrong != nil {
			if err := a.tell(ctx, id, stands[i].version, wrong); err != nil {
				return err
			}
		}
	}
	return nil
}

// tell reports a checkpoint, unless its execution has moved on since it was read.
func (a *checkpointAudit) tell(ctx context.Context, id execution.ID, version string, wrong error) error {
	again, err := a.stand(ctx, []execution.ID{id})
	if err != nil || !again[0].open || again[0].version != version {
		return err
	}
	a.report(journal.Finding{
		Code: codeOf(wrong), Key: a.store.keys.execution(id)[keyCheckpoints], Detail: fmt.Sprintf("the newest checkpoint: %v", wrong),
	})
	return nil
}

// codeOf says of a record that cannot be read whether a later release wrote it.
func codeOf(err error) journal.FindingCode {
	if errors.Is(err, execution.ErrNewer) {
		return journal.FindingNewer
	}
	return journal.FindingUnreadable
}
