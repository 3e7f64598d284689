package redisjournal

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// AuditCheckpoints looks at the newest checkpoint of each execution that has not ended: the next worker goes on from it. read reads
// one, which is opaque here; its error says what is wrong, and with execution.ErrNewer that a later release wrote it. It goes
// through all executions, a few at a time, and changes nothing. What moves on meanwhile is left out.
func (s *Store) AuditCheckpoints(ctx context.Context, read func(checkpoint []byte) error, report func(journal.Finding)) error {
	a := &checkpointAudit{store: s, read: read, report: report}
	if err := s.eachPart(ctx, ":checkpoints", auditRows, a.look); err != nil {
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

// standing is where an execution stands, and its newest checkpoint there.
type standing struct {
	version    string // counts what was written to the row
	open       bool
	checkpoint []byte
}

// stand reads where executions stand. A key of another type is left to those who look at rows.
func (a *checkpointAudit) stand(ctx context.Context, parts []auditPart) ([]standing, error) {
	rows, newest := make([]*redis.SliceCmd, len(parts)), make([]*redis.StringCmd, len(parts))
	_, err := a.store.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, part := range parts {
			rows[i] = pipe.HMGet(ctx, a.store.keys.row(part.id), "state", "version")
			newest[i] = pipe.LIndex(ctx, part.key, -1)
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) && !wrongType(err) {
		return nil, err
	}
	stands := make([]standing, len(parts))
	for i := range parts {
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

func (a *checkpointAudit) look(ctx context.Context, parts []auditPart) error {
	stands, err := a.stand(ctx, parts)
	if err != nil {
		return err
	}
	for i, part := range parts {
		if !stands[i].open {
			continue
		}
		if wrong := a.read(stands[i].checkpoint); wrong != nil {
			if err := a.tell(ctx, part, stands[i].version, wrong); err != nil {
				return err
			}
		}
	}
	return nil
}

// tell reports a checkpoint, unless its execution has moved on since it was read.
func (a *checkpointAudit) tell(ctx context.Context, part auditPart, version string, wrong error) error {
	again, err := a.stand(ctx, []auditPart{part})
	if err != nil || !again[0].open || again[0].version != version {
		return err
	}
	a.report(journal.Finding{
		Code: codeOf(wrong), Key: part.key, Detail: fmt.Sprintf("the newest checkpoint: %v", wrong),
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
