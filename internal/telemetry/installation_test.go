package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/journal/redisjournal"
	"github.com/pawl-run/pawl/queue"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// stored opens a store on a Redis of the test's own, with what a scrape asks about it.
func stored(t *testing.T) (*redisjournal.Store, *redis.Client, *Metrics) {
	t.Helper()
	rdb := redistest.Start(t).Client(t)
	store, err := redisjournal.New(rdb, redisjournal.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	tasks, err := queue.NewClient(rdb, queue.ClientConfig{})
	require.NoError(t, err)
	m := New("api", "test")
	m.Installation(Installation{
		Executions: store, Queues: tasks, Logger: slog.New(slog.DiscardHandler),
		Memory: func(context.Context) (Memory, error) { return Memory{Used: 10, Max: 20}, nil },
		Kinds:  func(context.Context) (map[string]float64, error) { return map[string]float64{"row": 7}, nil },
	})
	return store, rdb, m
}

func reserve(t *testing.T, store *redisjournal.Store, count int) {
	t.Helper()
	for i := range count {
		p := execution.Partition(i % execution.Partitions)
		_, err := store.Reserve(t.Context(), journal.NewExecution{
			ID: execution.NewID(p), ConversationID: execution.NewConversationID(p), Caller: execution.LocalCaller(),
			Request:    execution.CreateRequest{Agent: "demo", Input: execution.Input{Type: execution.UserMessage, Text: "hi"}},
			Definition: strings.Repeat("0", 64), Checkpoint: []byte(`{"v":1}`), Node: "run_start",
		})
		require.NoError(t, err, fmt.Sprint(i))
	}
}

func TestInstallation_SaysWhatIsStored(t *testing.T) {
	t.Parallel()
	store, _, m := stored(t)
	reserve(t, store, 3)
	page := scrape(t, m)
	for _, line := range []string{
		`pawl_executions{state="queued"} 3`, `pawl_executions{state="completed"} 0`,
		`pawl_queue_tasks{queue="default-new",state="pending"} 0`, `pawl_queue_latency_seconds{queue="default"} 0`,
		`pawl_remote_runs 0`, `pawl_redis_memory_bytes 10`, `pawl_redis_key_bytes{kind="row"} 7`, `pawl_redis_memory_max_bytes 20`, `pawl_claims_held 0`, `pawl_scrape_errors_total 0`,
	} {
		require.Contains(t, page, line+"\n")
	}
	require.Regexp(t, `pawl_oldest_execution_seconds\{state="queued"\} 0\.\d`, page)
}

// commands is how often Redis has carried out each command.
func commands(t *testing.T, rdb *redis.Client) map[string]string {
	t.Helper()
	info, err := rdb.Info(t.Context(), "commandstats").Result()
	require.NoError(t, err)
	counts := make(map[string]string)
	for _, match := range regexp.MustCompile(`cmdstat_([^:]+):calls=(\d+)`).FindAllStringSubmatch(info, -1) {
		counts[match[1]] = match[2]
	}
	return counts
}

func TestInstallation_AScrapeCostsTheSameWhateverIsStored(t *testing.T) {
	t.Parallel()
	store, rdb, m := stored(t)
	cost := func() map[string]string {
		require.NoError(t, rdb.ConfigResetStat(t.Context()).Err())
		scrape(t, m)
		counts := commands(t, rdb)
		delete(counts, "config|resetstat")
		delete(counts, "info")
		return counts
	}
	cost() // connects
	many := 2000
	if os.Getenv("SOAK") != "" {
		many = 100_000
	}
	reserve(t, store, 10)
	few := cost()
	reserve(t, store, many)
	began := time.Now()
	require.Equal(t, few, cost())
	t.Logf("with %d executions: %v, in %v", many, few, time.Since(began))
}

func TestInstallation_WhatRedisDoesNotSayIsLeftOut(t *testing.T) {
	t.Parallel()
	m := New("api", "test")
	m.Installation(Installation{
		Executions: silent{}, Queues: silent{}, Logger: slog.New(slog.DiscardHandler),
		Memory: func(context.Context) (Memory, error) { return Memory{}, errSilent },
		Kinds:  func(context.Context) (map[string]float64, error) { return nil, errSilent },
	})
	scrape(t, m)
	page := scrape(t, m)
	require.Regexp(t, `pawl_scrape_errors_total (6|12)\n`, page)
	require.NotContains(t, page, "\npawl_executions")
	require.Contains(t, page, "\npawl_build_info")
}

var errSilent = errors.New("no answer")

type silent struct{ Queues }

func (silent) Count(context.Context, string) (journal.Counts, error) { return nil, errSilent }

func (silent) CountOutside(context.Context) (int64, error) { return 0, errSilent }

func (silent) Depth(context.Context) (map[string]queue.Depth, error) { return nil, errSilent }

func (silent) Workers(context.Context) ([]queue.Worker, error) { return nil, errSilent }

// A Redis that hangs is when the program's own metrics are wanted most.
func TestInstallation_WhatRedisIsTooLateWithIsLeftOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := New("api", "test")
		m.Installation(Installation{
			Executions: silent{}, Queues: silent{}, Logger: slog.New(slog.DiscardHandler),
			Memory: func(ctx context.Context) (Memory, error) { <-ctx.Done(); return Memory{}, ctx.Err() },
			Kinds:  func(ctx context.Context) (map[string]float64, error) { <-ctx.Done(); return nil, ctx.Err() },
		})
		require.Contains(t, scrape(t, m), "\npawl_build_info")
	})
}
