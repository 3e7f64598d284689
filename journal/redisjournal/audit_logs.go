package redisjournal

import (
	"context"
	"fmt"
	"strings"

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
	if err := s.eachNode(ctx, a.scan); err != nil {
		return refusal("audit logs", s.keys.prefix, err)
	}
	return nil
}

// logAudit is one pass over all logs.
type logAudit struct {
	store  *Store
	report func(journal.Finding)
}

func (a *logAudit) scan(ctx context.Context, node redis.Cmdable) error {
	pattern := globEscape(a.store.keys.prefix) + ":{p*}:" + rowMark + "*:events"
	for cursor := uint64(0); ; {
		keys, next, err := node.Scan(ctx, cursor, pattern, auditKeys).Result()
		if err != nil {
			return err
		}
		var logs []string
		for _, key := range keys {
			_, tail, _ := strings.Cut(key, "}:")
			if _, err := execution.ParseID(strings.TrimSuffix(strings.TrimPrefix(tail, rowMark), ":events")); err == nil {
				logs = append(logs, key)
			}
		}
		for len(logs) > 0 {
			some := logs[:min(len(logs), auditLogs)]
			logs = logs[len(some):]
			if err := a.logs(ctx, some); err != nil {
				return err
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// logs reads logs to their ends, a page of each in one round trip.
func (a *logAudit) logs(ctx context.Context, keys []string) error {
	for from := int64(0); len(keys) > 0; from += auditEvents {
		commands, err := a.store.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for _, key := range keys {
				pipe.LRange(ctx, key, from, from+auditEvents-1)
			}
			return nil
		})
		var longer []string
		for i, command := range commands {
			page, err := command.(*redis.StringSliceCmd).Result()
			switch {
			case wrongType(err):
				a.report(journal.Finding{Code: journal.FindingUnreadable, Key: keys[i], Detail: "it is no list of events"})
				continue
			case err != nil:
				return fmt.Errorf("%s: %w", keys[i], err)
			}
			a.page(keys[i], from, page)
			if len(page) == auditEvents {
				longer = append(longer, keys[i])
			}
		}
		if err != nil && !wrongType(err) {
			return err
		}
		keys = longer
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
