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

// receiptMark ends the field of a receipt in the ledger, behind its call.
const receiptMark = ":receipt"

// AuditResults looks, for each execution that has not ended, whether the large values that the receipts of its calls name are
// there and as long as they should be: its next model request needs them. names reads a receipt, which is opaque here, and says
// which value it names; an empty hash: none. It goes through the ledgers of all open executions, a few at a time, and changes
// nothing; contents are not read. What ends meanwhile is left out.
func (s *Store) AuditResults(
	ctx context.Context, names func(receipt []byte) (hash string, size int64, err error), report func(journal.Finding),
) error {
	a := &resultAudit{store: s, names: names, report: report}
	if err := s.eachPart(ctx, ":tools", auditKeys, a.ledgers); err != nil {
		return refusal("audit results", s.keys.prefix, err)
	}
	return nil
}

// resultAudit is one pass over the ledgers of open executions.
type resultAudit struct {
	store  *Store
	names  func(receipt []byte) (hash string, size int64, err error)
	report func(journal.Finding)
}

func (a *resultAudit) ledgers(ctx context.Context, parts []auditPart) error {
	for _, part := range parts {
		if err := a.ledger(ctx, part.id, part.key); err != nil {
			return fmt.Errorf("%s: %w", part.id, err)
		}
	}
	return nil
}

// open reports whether the execution has not ended.
func (a *resultAudit) open(ctx context.Context, id execution.ID) (bool, error) {
	state, err := a.store.rdb.HGet(ctx, a.store.keys.row(id), "state").Result()
	if errors.Is(err, redis.Nil) || wrongType(err) { // the audit of rows says so of the latter
		return false, nil
	}
	return err == nil && !execution.State(state).Terminal(), err
}

func (a *resultAudit) ledger(ctx context.Context, id execution.ID, key string) error {
	if open, err := a.open(ctx, id); err != nil || !open {
		return err
	}
	for cursor := uint64(0); ; {
		fields, next, err := a.store.rdb.HScan(ctx, key, cursor, "*"+receiptMark, auditEntries).Result()
		if wrongType(err) {
			a.report(journal.Finding{Code: journal.FindingUnreadable, Key: key, Detail: "it is no ledger"})
			return nil
		}
		if err != nil {
			return err
		}
		for i := 0; i+1 < len(fields); i += 2 {
			if err := a.receipt(ctx, id, key, strings.TrimSuffix(fields[i], receiptMark), []byte(fields[i+1])); err != nil {
				return err
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

func (a *resultAudit) receipt(ctx context.Context, id execution.ID, key, call string, receipt []byte) error {
	hash, size, err := a.names(receipt)
	if err != nil {
		a.report(journal.Finding{Code: codeOf(err), Key: key, Detail: fmt.Sprintf("the receipt of the call %s: %v", call, err)})
		return nil
	}
	if hash == "" {
		return nil
	}
	found, err := a.length(ctx, id, hash, size)
	if err != nil || found == size {
		return err
	}
	if open, err := a.open(ctx, id); err != nil || !open { // it was purged under our eyes
		return err
	}
	detail := fmt.Sprintf("the stored result %.12s… of the call %s, %d bytes, is not there", hash, call, size)
	if found > 0 {
		detail = fmt.Sprintf("the stored result %.12s… of the call %s has %d bytes instead of %d", hash, call, found, size)
	}
	a.report(journal.Finding{Code: journal.FindingResultMissing, Key: a.store.keys.results(id), Detail: detail})
	return nil
}

// length is how long the value is, of the execution or of one that it was forked from; 0: it is not there.
func (a *resultAudit) length(ctx context.Context, id execution.ID, hash string, size int64) (int64, error) {
	found, err := a.store.rdb.HStrLen(ctx, a.store.keys.results(id), blobField(hash)).Result()
	if err != nil && !wrongType(err) || found == size {
		return found, err
	}
	lenders, err := a.store.rdb.HGet(ctx, a.store.keys.row(id), "lent").Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return 0, err
	}
	for lender := range strings.FieldsSeq(lenders) {
		lent, err := a.store.rdb.HStrLen(ctx, a.store.keys.results(execution.ID(lender)), blobField(hash)).Result()
		if err != nil || lent == size {
			return lent, err
		}
	}
	return found, nil
}
