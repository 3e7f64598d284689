package executor

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// half is a jitter without chance.
func half(limit time.Duration) time.Duration { return limit / 2 }

const patient = time.Hour

// starts are when n requests that come at once may go, counted from now.
func starts(l *lanes, now time.Time, n int) []time.Duration {
	var waits []time.Duration
	for range n {
		wait, taken := l.take("lane", now, patient)
		if taken {
			waits = append(waits, wait)
		}
	}
	return waits
}

// Case J2: after an idle time the load of a provider key grows step by step: the first requests go at once, and each second
// lets twice as many go as the second before.
func TestCaseJ2_LoadGrowsSlowlyAfterIdle(t *testing.T) {
	t.Parallel()
	l := newLanes(half)
	now := time.Unix(1_000_000, 0)
	first := starts(l, now, 200)
	require.Len(t, first, 200)
	require.True(t, slices.IsSorted(first))
	perSecond := map[int]int{}
	for _, wait := range first {
		perSecond[int(wait/time.Second)]++
	}
	require.InDelta(t, laneBurst+laneRate*1.4, perSecond[0], 10, "%v", perSecond)
	require.InDelta(t, 2*laneRate*1.4, perSecond[1], 10, "%v", perSecond)
	require.InDelta(t, 4*laneRate*1.4, perSecond[2], 20, "%v", perSecond)

	busy := now.Add(20 * time.Second)
	require.Equal(t, make([]time.Duration, 500), starts(l, busy, 500), "a lane in use has no bound")
	idle := busy.Add(laneIdle + time.Second)
	require.Positive(t, starts(l, idle, 100)[99], "after an idle time it begins again")
	_, taken := l.take("another", idle, 0)
	require.True(t, taken, "another key has its own lane")
}

// Case J1: a refusal parks everybody who uses the key, and they come back one after the other, none before Retry-After.
func TestCaseJ1_ARefusalParksTheLane(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLanes(half)
		starts(l, time.Now(), 1)
		l.refused("lane", &local.Error{Kind: local.Transient, Code: "rate_limited", RetryAfter: 600 * time.Second})
		wait, taken := l.take("lane", time.Now(), lanePatience)
		require.False(t, taken)
		require.Greater(t, wait, 600*time.Second, "the jitter comes on top")
		waits := starts(l, time.Now(), 50)
		require.GreaterOrEqual(t, waits[0], 600*time.Second)
		require.Greater(t, waits[49]-waits[0], 2*time.Second, "they do not meet again")
		l.refused("lane", &local.Error{Kind: local.Transient, Code: "rate_limited"})
		require.Greater(t, starts(l, time.Now(), 1)[0], 600*time.Second, "a shorter wish takes nothing back")

		l.refused("other", &local.Error{Kind: local.Transient, Code: "overloaded"})
		wait, taken = l.take("other", time.Now(), 0)
		require.True(t, taken, "an overloaded server without a wish parks only those who met it: %v", wait)
	})
}

// Case J1, with executions: one is told to wait, and the others of the same key wait too, without a request and without
// a worker.
func TestCaseJ1_ExecutionsOfOneKeyWaitTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const after = 100 * time.Second
		var mu sync.Mutex
		var asked []time.Time
		kit := &local.Kit{Model: fakeModel(func(context.Context, local.ModelRequest) (local.ModelResponse, error) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, time.Now())
			if len(asked) == 1 {
				return local.ModelResponse{}, &local.Error{Kind: local.Transient, Code: "rate_limited", RetryAfter: after}
			}
			return text("done"), nil
		})}
		definition := &agent.Definition{Model: priced("m")}
		w := newWorld(t, definition, kit, nil)
		ids := []execution.ID{w.id}
		for range 19 {
			w.submit(definition)
			ids = append(ids, w.id)
		}
		began := time.Now()
		for _, id := range ids {
			w.id = id
			for w.row().Wait == nil { // each runs until it waits
				require.NoError(t, w.next())
			}
			require.Equal(t, execution.WaitRetry, w.row().Wait.Kind)
			require.Nil(t, w.row().Claim, "waiting holds no worker")
		}
		require.Len(t, asked, 1, "the others did not even ask")
		require.Less(t, time.Since(began), 10*time.Second)
		for _, id := range ids {
			w.id = id
			require.Equal(t, execution.Completed, w.drive().State)
		}
		require.Len(t, asked, 21, "each was asked once, and the first one again")
		for i, at := range asked[1:] {
			require.Greater(t, at.Sub(asked[0]), after, "request %d", i)
			require.True(t, at.After(asked[i]), "no two at once")
		}
	})
}
