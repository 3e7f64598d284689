package redisjournal

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/journal/journaltest"
	"github.com/pawl-run/pawl/journal/memjournal"
)

// openRedis hands the suite a store on the shared server, whose replies can be lost and whose scripts forgotten.
func openRedis(t *testing.T, cfg journal.Config) journaltest.Harness {
	t.Helper()
	rdb := redistest.Shared(t).Client(t)
	admin := redistest.Shared(t).Client(t)
	lose := &losing{}
	rdb.AddHook(lose)
	return harness(t, rdb, admin, lose, cfg)
}

// completes reports whether the command is the last one of its call: not a look, nor a key that comes or goes before its row.
func (s *Store) completes(command redis.Cmder) bool {
	args := command.Args()
	if len(args) > 1 && (args[1] == s.scripts.reserveKey.Hash() || args[1] == s.scripts.purgeKey.Hash()) {
		return false
	}
	return !slices.Contains(args, any("look"))
}

func harness(t *testing.T, rdb, admin *redis.Client, lose *losing, cfg journal.Config) journaltest.Harness {
	t.Helper()
	h, store, broken := unlooked(t, rdb, admin, lose, cfg)
	t.Cleanup(func() {
		if !*broken && !t.Failed() {
			requireSound(t, store)
		}
	})
	return h
}

// unlooked is a harness whose store nobody looks through at the end. broken is set by the suite when indexes hold what no row
// says.
func unlooked(
	t *testing.T, rdb, admin *redis.Client, lose *losing, cfg journal.Config,
) (h journaltest.Harness, store *Store, broken *bool) {
	t.Helper()
	prefix := redistest.Prefix()
	store, err := New(rdb, Config{Config: cfg, Prefix: prefix})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	lose.last = store.completes
	broken = new(bool)
	return journaltest.Harness{
		Store: store,
		Dump:  func() map[string]string { return dump(t, admin, prefix) },
		Indexes: func() map[string]map[string]int64 {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			if !*broken {
				requireListed(ctx, t, admin, prefix)
			}
			return scores(ctx, t, admin, prefix)
		},
		DropReply: func() { lose.armed.Store(true) },
		Flush: func() {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			require.NoError(t, admin.ScriptFlush(ctx).Err())
		},
		Corrupt: func(id execution.ID) {
			*broken = true
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			require.NoError(t, admin.Del(ctx, store.keys.row(id)).Err())
			require.NoError(t, admin.Set(ctx, store.keys.row(id), "no row", 0).Err())
		},
		Orphan: func(id execution.ID) {
			*broken = true
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			require.NoError(t, admin.Del(ctx, store.keys.row(id)).Err())
		},
		DamageEvent: func(id execution.ID, n execution.Sequence, timeToo bool) {
			redistest.DamageEvent(t, admin, store.keys.events(id), int64(n)-1, timeToo) //nolint:gosec // it is small
		},
	}, store, broken
}

// anew opens a store on an empty server of the test's own for each run of a property, of which there may be thousands. The
// property looks through it itself.
func anew(t *testing.T) journaltest.Open {
	t.Helper()
	rdb := redistest.Start(t).Client(t)
	return func(t *testing.T, cfg journal.Config) journaltest.Harness {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		require.NoError(t, rdb.FlushAll(ctx).Err())
		h, _, _ := unlooked(t, rdb, rdb, &losing{}, cfg)
		return h
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	journaltest.Run(t, openRedis)
}

func TestDifferential(t *testing.T) {
	t.Parallel()
	journaltest.Differential(t, anew(t), func(t *testing.T, cfg journal.Config) journaltest.Harness {
		t.Helper()
		store, err := memjournal.New(cfg)
		require.NoError(t, err)
		return journaltest.Harness{Store: store, Dump: store.Dump, Indexes: store.Indexes}
	})
}

func TestTrees(t *testing.T) {
	t.Parallel()
	journaltest.Trees(t, anew(t))
}
