package link_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal/redisjournal"
	"github.com/pawl-run/pawl/link"
	"github.com/pawl-run/pawl/link/linktest"
	"github.com/pawl-run/pawl/queue"
)

func TestWhyKnowsTheQueueAndWhoServesIt(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t).Client(t) // of its own: the names of queues are everybody's
	store, err := redisjournal.New(rdb, redisjournal.Config{Logger: quiet()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	tasks, err := queue.NewClient(rdb, queue.ClientConfig{Logger: quiet()})
	require.NoError(t, err)
	l := service(t, store, func(cfg *link.Config) { cfg.Enqueuer, cfg.Queues = tasks, tasks }).As(execution.LocalAuthority())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var ids []execution.ID
	for range 3 {
		created, err := l.Create(ctx, "", linktest.Request("hello"))
		require.NoError(t, err)
		ids = append(ids, created.View.ID)
	}
	for position, id := range ids {
		why, err := l.Why(ctx, id)
		require.NoError(t, err)
		require.Equal(t, &execution.WhyQueue{Name: "default-new", Position: int64(position)}, why.Queue)
		require.Contains(t, why.Detail, "No live worker serves this queue")
		require.Contains(t, why.Detail, "PAWL_WORKER_QUEUES")
	}
	presence, err := queue.NewPresence(rdb, queue.PresenceConfig{ID: "one", Queues: []string{"default", "default-new"}, Logger: quiet()})
	require.NoError(t, err)
	living, die := context.WithCancel(ctx)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		presence.Run(living)
	}()
	served := func(workers int) func() bool {
		return func() bool {
			why, err := l.Why(ctx, ids[2])
			require.NoError(t, err)
			return why.Queue.Workers == workers
		}
	}
	require.Eventually(t, served(1), 10*time.Second, 5*time.Millisecond)
	why, err := l.Why(ctx, ids[2])
	require.NoError(t, err)
	require.Equal(t, "Its task waits in the queue default-new; 2 others come before it.", why.Detail)
	die()
	<-gone
	require.True(t, served(0)())
}

func TestWhySaysThatAClaimRanOutOnRedis(t *testing.T) {
	t.Parallel()
	h := onRedis(t)
	h.As = service(t, h.Store).As
	created, err := h.Local().Create(t.Context(), "", linktest.Request("hello"))
	require.NoError(t, err)
	linktest.ClaimFor(t, h.Store, created.View.ID, time.Second)
	require.Eventually(t, func() bool {
		why, err := h.Local().Why(t.Context(), created.View.ID)
		require.NoError(t, err)
		require.Equal(t, "worker", why.Holder.WorkerID)
		return why.WaitingFor == execution.WaitsForReclaim && why.SinceAtMs == why.Holder.ClaimExpiresAtMs
	}, 10*time.Second, 20*time.Millisecond)
}
