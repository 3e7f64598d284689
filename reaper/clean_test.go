package reaper

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func (s *fakeStore) Cleanups(_ context.Context, p execution.Partition, limit int) ([]journal.Cleanup, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.down[p]; err != nil {
		return nil, err
	}
	var found []journal.Cleanup
	for _, c := range s.cleaning {
		if c.Execution.ID.Partition() == p && len(found) < limit && s.postponed[string(c.Execution.ID)] == 0 {
			found = append(found, c)
		}
	}
	return found, nil
}

func (s *fakeStore) PostponeCleanup(_ context.Context, seen journal.Cleanup, delay time.Duration) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := string(seen.Execution.ID)
	if err := s.fail["postpone "+id]; err != nil {
		return false, err
	}
	if s.postponed[id] != 0 {
		return false, nil
	}
	if s.postponed == nil {
		s.postponed = make(map[string]time.Duration)
	}
	s.postponed[id] = delay
	return true, nil
}

func (s *fakeStore) done(what string, id execution.ID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fail[string(id)]; err != nil {
		return err
	}
	s.cleaned = append(s.cleaned, what+" "+string(id))
	return nil
}

func (s *fakeStore) CompleteDelegationCleanup(
	_ context.Context, id execution.ID, lease journal.LeaseRef,
) (journal.Execution, error) {
	return journal.Execution{}, s.done(string(lease), id)
}

func (s *fakeStore) CompleteCleanup(_ context.Context, id execution.ID, cleanup []byte) (journal.Change, error) {
	return journal.Change{Tasks: []execution.Task{{Execution: id}}}, s.done(string(cleanup), id)
}

// recordingCleaner says which rows it was given, and fails for those that it is told to.
type recordingCleaner struct {
	mu   sync.Mutex
	rows []execution.ID
	fail map[execution.ID]error
}

func (c *recordingCleaner) Clean(_ context.Context, row journal.Execution) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rows = append(c.rows, row.ID)
	return c.fail[row.ID]
}

func cleanup(p execution.Partition, change func(*journal.Execution)) journal.Cleanup {
	c := journal.Cleanup{NowMs: 100_000, SinceMs: 93_000}
	c.Execution.ID, c.Execution.State = execution.NewID(p), execution.Completed
	change(&c.Execution)
	return c
}

func task(row *journal.Execution) { row.Cleanup = []byte("task") }

func lease(row *journal.Execution) { row.Delegation = &journal.Delegation{LeaseRef: "lease"} }

func both(row *journal.Execution) { task(row); lease(row) }

func TestClean_UndoesEachKindAndSaysSo(t *testing.T) {
	t.Parallel()
	store := &fakeStore{cleaning: []journal.Cleanup{
		cleanup(1, task), cleanup(1, lease), cleanup(63, both), cleanup(5, func(*journal.Execution) {}),
	}}
	cleaner, tasks := &recordingCleaner{}, &fakeTasks{}
	r := newReaper(t, store, tasks, Config{Cleaner: cleaner})
	report, err := r.Clean(t.Context())
	require.NoError(t, err)
	require.Equal(t, Report{Cleaned: 3, Enqueued: 2}, report)
	ids := make([]execution.ID, len(store.cleaning))
	for i, c := range store.cleaning {
		ids[i] = c.Execution.ID
		require.Equal(t, 7*time.Second, store.postponed[string(c.Execution.ID)], "the next attempt comes whatever becomes of this")
	}
	require.ElementsMatch(t, ids[:3], cleaner.rows, "there is nothing to undo after the last")
	require.ElementsMatch(t, []string{
		fmt.Sprint("task ", ids[0]), fmt.Sprint("lease ", ids[1]), fmt.Sprint("task ", ids[2]), fmt.Sprint("lease ", ids[2]),
	}, store.cleaned)
	require.ElementsMatch(t, []execution.ID{ids[0], ids[2]}, tasks.enqueued)
	require.Equal(t, report, r.Total())

	report, err = r.Clean(t.Context())
	require.NoError(t, err)
	require.True(t, report.Zero())
}

func TestClean_CaseA6_WhatFailsStopsNoOther(t *testing.T) {
	t.Parallel()
	stubborn, unreadable, fine := cleanup(1, task), cleanup(1, func(*journal.Execution) {}), cleanup(1, task)
	changed, away, taken := cleanup(2, task), cleanup(3, task), cleanup(4, task)
	unreadable.Bad = true
	store := &fakeStore{
		cleaning: []journal.Cleanup{stubborn, unreadable, fine, changed, away, taken},
		fail: map[string]error{
			string(changed.Execution.ID):             journal.ErrConflict,
			string(away.Execution.ID):                journal.ErrUnavailable,
			"postpone " + string(taken.Execution.ID): journal.ErrUnavailable,
		},
		down: map[execution.Partition]error{9: journal.ErrUnavailable},
	}
	cleaner := &recordingCleaner{fail: map[execution.ID]error{stubborn.Execution.ID: errors.New("the broker is down")}}
	report, err := newReaper(t, store, &fakeTasks{}, Config{Cleaner: cleaner}).Clean(t.Context())
	require.ErrorContains(t, err, "the broker is down")
	require.ErrorContains(t, err, "set aside for 1m0s: the row cannot be read")
	require.Equal(t, Report{Cleaned: 1, Unclean: 1, Bad: 1, MovedOn: 1, Errors: 5, Enqueued: 3}, report)
	require.Equal(t, time.Minute, store.postponed[string(unreadable.Execution.ID)])
	require.NotContains(t, cleaner.rows, taken.Execution.ID, "who could not take the attempt makes none")
	require.Equal(t, []string{fmt.Sprint("task ", fine.Execution.ID)}, store.cleaned)
}

func TestClean_OfManyReapersOneMakesTheAttempt(t *testing.T) {
	t.Parallel()
	store := &fakeStore{}
	for i := range 50 {
		store.cleaning = append(store.cleaning, cleanup(execution.Partition(i), task))
	}
	cleaner := &recordingCleaner{}
	var group sync.WaitGroup
	for range 4 {
		r := newReaper(t, store, &fakeTasks{}, Config{Cleaner: cleaner})
		group.Go(func() { _, _ = r.Clean(t.Context()) })
	}
	group.Wait()
	require.Len(t, cleaner.rows, 50)
	require.Len(t, store.cleaned, 50)
}

func TestBackOff_DoublesWithinBounds(t *testing.T) {
	t.Parallel()
	for age, want := range map[int64]time.Duration{
		-5: time.Second, 100: time.Second, 2000: 2 * time.Second, 3_600_000: time.Minute,
	} {
		require.Equal(t, want, backOff(journal.Cleanup{NowMs: 10_000_000, SinceMs: 10_000_000 - age}))
	}
}

func TestRun_ASlowCleanerDelaysNoPass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{cleaning: []journal.Cleanup{cleanup(1, task)}}
		began := 0
		hangs := CleanerFunc(func(ctx context.Context, _ journal.Execution) error {
			began++
			<-ctx.Done()
			return ctx.Err()
		})
		r := newReaper(t, store, &fakeTasks{}, Config{Cleaner: hangs, CleanTimeout: 30 * time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		require.NoError(t, r.Run(ctx))
		require.Equal(t, 1, began)
		require.GreaterOrEqual(t, r.Total().Passes, int64(20))
		require.Empty(t, store.cleaned)
		require.Equal(t, int64(1), r.Total().Unclean)
	})
}

func TestClean_DoesNothingWithoutACleaner(t *testing.T) {
	t.Parallel()
	store := &fakeStore{cleaning: []journal.Cleanup{cleanup(1, task)}}
	report, err := newReaper(t, store, &fakeTasks{}, Config{}).Clean(t.Context())
	require.NoError(t, err)
	require.Zero(t, report)
	require.Empty(t, store.postponed)
}
