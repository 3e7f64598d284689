package redisjournal

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

var _ journal.Auditor = (*Store)(nil)

const (
	auditKeys    = 500 // keys of one SCAN
	auditRows    = 100 // rows of one pipeline
	auditEntries = 200 // entries that one script looks at
)

// Audit goes through all keys of the store. See journal.Auditor.
func (s *Store) Audit(ctx context.Context, repair bool, report func(journal.Finding)) (journal.Census, error) {
	a := &audit{store: s, repair: repair, report: report, census: journal.Census{Rows: map[execution.State]int64{}}}
	err := s.eachNode(ctx, a.scan)
	if err == nil {
		a.census.Open, err = s.OpenExecutions(ctx)
	}
	if err != nil && !wrongType(err) { // an index that cannot be counted is a finding already
		return a.census, refusal("audit", s.keys.prefix, err)
	}
	return a.census, nil
}

// eachNode calls f with each server that holds keys, one after the other.
func (s *Store) eachNode(ctx context.Context, f func(context.Context, redis.Cmdable) error) error {
	cluster, ok := s.rdb.(*redis.ClusterClient)
	if !ok {
		return f(ctx, s.rdb)
	}
	var one sync.Mutex // ForEachMaster calls all at once
	return cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		one.Lock()
		defer one.Unlock()
		return f(ctx, node)
	})
}

// audit is one pass over all keys.
type audit struct {
	store  *Store
	repair bool
	report func(journal.Finding)
	census journal.Census
}

// scan looks at every key of a node. A key may come twice: that of a row is then counted twice.
func (a *audit) scan(ctx context.Context, node redis.Cmdable) error {
	for cursor := uint64(0); ; {
		keys, next, err := node.Scan(ctx, cursor, globEscape(a.store.keys.prefix)+":{p*", auditKeys).Result()
		if err != nil {
			return err
		}
		if err := a.look(ctx, keys); err != nil {
			return err
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

func (a *audit) look(ctx context.Context, keys []string) error {
	var rows []execution.ID
	for _, key := range keys {
		_, tail, _ := strings.Cut(key, "}:")
		if id, is := strings.CutPrefix(tail, rowMark); is {
			if parsed, err := execution.ParseID(id); err == nil {
				rows = append(rows, parsed)
			}
			if strings.HasSuffix(id, ":open") {
				if err := a.entries(ctx, key, "tails"); err != nil {
					return err
				}
			}
			continue
		}
		if members := membersOf(tail); members != "" {
			if err := a.entries(ctx, key, members); err != nil {
				return err
			}
		}
	}
	for len(rows) > 0 {
		some := rows[:min(len(rows), auditRows)]
		rows = rows[len(some):]
		if err := a.rows(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// membersOf says what the entries of an index are: ids, tails of ids, or names of conversations. Empty: the key is no index.
func membersOf(tail string) string {
	switch tail {
	case "due", "handoff", "purge", "cleanup", "outside", "push":
		return "ids"
	case "named":
		return "names"
	}
	kind, _, _ := strings.Cut(tail, ":")
	switch {
	case kind == "tenant", kind == "caller", kind == "conv" && strings.HasSuffix(tail, ":executions"):
		return "tails"
	case kind == "conv" && strings.HasSuffix(tail, ":waiting"):
		return "ids"
	default:
		return ""
	}
}

func (a *audit) rows(ctx context.Context, ids []execution.ID) error {
	calls := make([]invocation, len(ids))
	for i, id := range ids {
		calls[i] = invocation{a.store.keys.execution(id), []any{bit(a.repair), states(execution.States()), a.store.now()}}
	}
	commands, err := a.store.pipeline(ctx, a.store.scripts.audit, calls)
	if err != nil && !wrongType(err) {
		return err
	}
	for i, command := range commands {
		r, err := newReply(command.Result())
		if wrongType(err) {
			a.report(journal.Finding{
				Code: journal.FindingUnreadable, Key: a.store.keys.row(ids[i]), Detail: "a key that belongs to it is of a type that is not Pawl's",
			})
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", ids[i], scriptError(err))
		}
		state, found := execution.State(r.text(0)), r.texts(1)
		if r.err != nil {
			return fmt.Errorf("%s: %w", ids[i], r.err)
		}
		if state != "" {
			a.census.Rows[state]++
		}
		for n := 0; n+2 < len(found); n += 3 {
			a.report(journal.Finding{
				Code: journal.FindingCode(found[n]), Key: a.store.keys.row(ids[i]), Detail: found[n+1], Mended: found[n+2] == "1",
			})
		}
	}
	return nil
}

// entries looks at an index page by page. What is removed of a page makes room for what follows it.
func (a *audit) entries(ctx context.Context, key, members string) error {
	for from := int64(0); ; {
		commands, err := a.store.pipeline(ctx, a.store.scripts.auditEntries, []invocation{
			{[]string{key}, []any{members, from, auditEntries, bit(a.repair), a.store.now()}},
		})
		if err == nil {
			err = commands[0].Err()
		}
		if wrongType(err) {
			a.report(journal.Finding{Code: journal.FindingUnreadable, Key: key, Detail: "it is no index"})
			return nil
		}
		if err != nil {
			return err
		}
		r, err := newReply(commands[0].Result())
		if err != nil {
			return fmt.Errorf("%s: %w", key, scriptError(err))
		}
		seen, removed := r.number(0), r.number(1)
		for _, member := range r.texts(2) {
			a.report(journal.Finding{
				Code: journal.FindingEntryWithoutRow, Key: key, Detail: member + " is not there", Mended: a.repair,
			})
		}
		if r.err != nil {
			return fmt.Errorf("%s: %w", key, r.err)
		}
		a.census.Entries += seen - removed
		if from += seen - removed; seen < auditEntries {
			return nil
		}
	}
}

// wrongType reports whether a key is of another type than a script takes it for: somebody else has written it.
func wrongType(err error) bool { return redis.HasErrorPrefix(err, "WRONGTYPE") }

// globEscape writes a text as a pattern that matches it alone.
func globEscape(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(text)
}
