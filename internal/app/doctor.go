package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/pawl-run/pawl/executor"
	"github.com/pawl-run/pawl/internal/config"
	"github.com/pawl-run/pawl/internal/inventory"
	"github.com/pawl-run/pawl/internal/redisconn"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/journal/redisjournal"
	"github.com/pawl-run/pawl/queue"
)

// What the command line says of an examination.
type (
	Finding = journal.Finding
	Weight  = inventory.Line
)

// UnknownKeys is the kind of keys that this release does not know.
const UnknownKeys = inventory.Unknown

// FindingQueueNotServed is a queue that holds tasks which nobody will take.
const FindingQueueNotServed journal.FindingCode = "queue_not_served"

// Examination is what `pawl doctor` is to do.
type Examination struct {
	Repair bool // mend what needs no judgment
	Bytes  bool // weigh all keys
	Logs   bool // read all events
}

// Diagnosis is what it has counted.
type Diagnosis struct {
	journal.Census
	Workers int      `json:"workers"` // live ones
	Bytes   []Weight `json:"bytes,omitempty"`
}

// Examine looks through everything that is stored, and reports what is not as it should be. It goes through all keys.
func Examine(ctx context.Context, cfg config.Doctor, what Examination, report func(Finding)) (Diagnosis, error) {
	var diagnosis Diagnosis
	rdb, err := redisconn.Open(redisconn.Config{URL: cfg.RedisURL.Reveal(), Concurrency: 1, ClientName: "pawl-doctor"})
	if err != nil {
		return diagnosis, fmt.Errorf("PAWL_REDIS_URL: %w", err)
	}
	defer func() { _ = rdb.Close() }() // what was asked is done
	quiet := slog.New(slog.DiscardHandler)
	store, err := redisjournal.New(rdb, redisjournal.Config{Config: journalConfig(cfg.Journal), Logger: quiet})
	if err != nil {
		return diagnosis, err
	}
	defer func() { _ = store.Close() }() // nothing is followed
	tasks, err := queue.NewClient(rdb, queue.ClientConfig{Logger: quiet})
	if err != nil {
		return diagnosis, err
	}
	diagnosis.Census, err = store.Audit(ctx, what.Repair, report)
	if err == nil {
		err = store.AuditResults(ctx, storedResult, report)
	}
	if err == nil {
		err = store.AuditCheckpoints(ctx, readable, report)
	}
	if err == nil && what.Logs {
		err = store.AuditLogs(ctx, report)
	}
	if err == nil {
		diagnosis.Workers, err = examineQueues(ctx, tasks, report)
	}
	if err == nil && what.Bytes {
		diagnosis.Bytes, err = inventory.Take(ctx, rdb, keyPrefix)
	}
	if err != nil && !errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("redis at %s: %w", redisconn.Redact(cfg.RedisURL.Reveal()), redisconn.AtTheDoor(ctx, rdb, err))
	}
	return diagnosis, err
}

// storedResult is the large result that a receipt names.
func storedResult(receipt []byte) (hash string, size int64, err error) {
	_, result, err := executor.LedgerCall(journal.LedgerEntry{Receipt: receipt})
	if err != nil || result == nil || result.Blob == nil {
		return "", 0, err
	}
	return result.Blob.Hash, result.Blob.Size, nil
}

// readable is the error of a checkpoint that this release cannot read.
func readable(checkpoint []byte) error {
	_, err := executor.DecodeCheckpoint(checkpoint)
	return err
}

// examineQueues counts the live workers and reports the queues that they leave alone.
func examineQueues(ctx context.Context, tasks *queue.Client, report func(Finding)) (int, error) {
	workers, err := tasks.Workers(ctx)
	if err != nil {
		return 0, err
	}
	unserved, err := tasks.Unserved(ctx)
	if err != nil {
		return 0, err
	}
	for _, q := range unserved {
		report(Finding{
			Code: FindingQueueNotServed, Key: q.Queue,
			Detail: fmt.Sprintf("%d tasks wait in it and no live worker serves it", q.Pending),
		})
	}
	return len(workers), nil
}
