package redisjournal

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// How much of logs one round trip reads: events may be large.
const (
	auditLogs   = 16
	auditEvents = 100
)

// AuditLogs reads every event of every log, a few logs at a time, and reports those that cannot be read: where they are, and
// nothing of what is stored. It changes nothing. It costs as much as the logs are long.
func (s *Store) AuditLogs(ctx context.Context, report func(journal.Finding)) error {
	a := &logAudit{store: s, report: report}
	if err := s.eachPart(ctx, ":events", auditLogs, a.logs); err != nil {
		return refusal("audit logs", s.keys.prefix, err)
	}
	return nil
}

// logAudit is one pass over all logs.
type logAudit struct {
	store  *Store
	report func(journal.Finding)
}

// logs reads logs to their ends, a page of each in one round trip.
func (a *logAudit) logs(ctx context.Context, logs []auditPart) error {
	for from := int64(0); len(logs) > 0; from += auditEvents {
		commands, err := a.store.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for _, log := range logs {
				pipe.LRange(ctx, log.key, from, from+auditEvents-1)
			}
			return nil
		})
		var longer []auditPart
		for i, command := range commands {
			page, err := command.(*redis.StringSliceCmd).Result()
			switch {
			case wrongType(err):
				a.report(journal.Finding{Code: journal.FindingUnreadable, Key: logs[i].key, Detail: "it is no list of events"})
				continue
			case err != nil:
				return fmt.Errorf("%s: %w", logs[i].key, err)
			}
			a.page(logs[i].key, from, page)
			if len(page) == auditEvents {
				longer = append(longer, logs[i])
			}
		}
		if err != nil && !wrongType(err) {
			return err
		}
		logs = longer
	}
	return nil
}

func (a *logAudit) page(key string, from int64, page []string) {
	for i, entry := range page {
		n := from + int64(i) + 1
		if _, err := decodeEvent(entry, execution.Sequence(n)); err != nil { //nolint:gosec // it is not negative
			a.report(journal.Finding{Code: journal.FindingUnreadable, Key: key, Detail: fmt.Sprintf("event %d: %v", n, err)})
		}
	}
}
