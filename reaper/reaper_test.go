package reaper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// fakeStore holds entries by member and answers as told. Entries leave it when they are handled.
type fakeStore struct {
	mu        sync.Mutex
	entries   []journal.Due
	fail      map[string]error // by member, of Requeue, Expire and Purge
	down      map[execution.Partition]error
	sweeps    int
	postponed map[string]time.Duration
	handled   []string
	cleaning  []journal.Cleanup
	cleaned   []string
}

func (s *fakeStore) Sweep(_ context.Context, p execution.Partition, limit int) ([]journal.Due, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweeps++
	if err := s.down[p]; err != nil {
		return nil, err
	}
	var found []journal.Due
	for _, entry := range s.entries {
		if entry.Partition == p && len(found) < limit {
			found = append(found, entry)
		}
	}
	return found, nil
}

func (s *fakeStore) take(verb string, seen journal.Due) (journal.Requeued, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fail[seen.Member]; err != nil {
		return journal.Requeued{}, err
	}
	for i, entry := range s.entries {
		if entry.Member == seen.Member {
			s.entries = append(s.entries[:i:i], s.entries[i+1:]...)
			s.handled = append(s.handled, verb+" "+seen.Member)
			return journal.Requeued{Moved: true, Tasks: []execution.Task{{Execution: execution.ID(seen.Member), Wake: 9}}}, nil
		}
	}
	return journal.Requeued{}, nil
}

func (s *fakeStore) Requeue(_ context.Context, seen journal.Due) (journal.Requeued, error) {
	return s.take("requeue", seen)
}

func (s *fakeStore) Expire(_ context.Context, seen journal.Due) (journal.Requeued, error) {
	return s.take("expire", seen)
}

func (s *fakeStore) Purge(_ context.Context, seen journal.Due) error {
	_, err := s.take("purge", seen)
	return err
}

func (s *fakeStore) Postpone(_ context.Context, seen journal.Due, delay time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, entry := range s.entries {
		if entry.Member == seen.Member {
			s.entries = append(s.entries[:i:i], s.entries[i+1:]...)
		}
	}
	if s.postponed == nil {
		s.postponed = make(map[string]time.Duration)
	}
	s.postponed[seen.Member] = delay
	return nil
}

type fakeTasks struct {
	mu       sync.Mutex
	standing map[execution.ID]bool
	down     error // of Standing
	refuse   error // of Enqueue
	enqueued []execution.ID
	asked    []int // tasks of each look-up
	repairs  int
}

func (q *fakeTasks) Enqueue(ctx context.Context, tasks ...execution.Task) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := errors.Join(q.refuse, ctx.Err()); err != nil {
		return err
	}
	for _, task := range tasks {
		q.enqueued = append(q.enqueued, task.Execution)
	}
	return nil
}

func (q *fakeTasks) Standing(_ context.Context, tasks []execution.Task, _ time.Duration) ([]bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.asked = append(q.asked, len(tasks))
	answers := make([]bool, len(tasks))
	for i, task := range tasks {
		answers[i] = q.standing[task.Execution]
	}
	return answers, q.down
}

func (q *fakeTasks) Repair(context.Context) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.repairs++
	return 2, nil
}

func entry(p execution.Partition, member string, action journal.DueAction) journal.Due {
	return journal.Due{
		Partition: p, Member: member, Action: action, NowMs: 100_000, SinceMs: 80_000,
		Task: execution.Task{Execution: execution.ID(member)},
	}
}

func newReaper(t *testing.T, store Store, tasks Tasks, cfg Config) *Reaper {
	t.Helper()
	cfg.Logger = slog.New(slog.DiscardHandler)
	r, err := New(store, tasks, cfg)
	require.NoError(t, err)
	return r
}

func TestPass_DoesWhatEachEntryAsksFor(t *testing.T) {
	t.Parallel()
	store := &fakeStore{entries: []journal.Due{
		entry(1, "claim", journal.ActRequeue), entry(1, "lost", journal.ActStanding),
		entry(2, "backlog", journal.ActStanding), entry(3, "wait", journal.ActExpire),
		entry(63, "old", journal.ActPurge), entry(0, "key", journal.ActKey), entry(5, "broken", journal.ActBad),
	}}
	tasks := &fakeTasks{standing: map[execution.ID]bool{"backlog": true}}
	r := newReaper(t, store, tasks, Config{})
	report, err := r.Pass(t.Context())
	require.ErrorContains(t, err, "broken set aside for 1m0s: the row cannot be read")
	require.Equal(t, Report{
		Passes: 1, Swept: 7, Lookups: 2, Standing: 1, Postponed: 1, Requeued: 2, Expired: 1, Purged: 2, Enqueued: 3,
		Bad: 1, Errors: 1,
	}, report)
	require.ElementsMatch(t, []execution.ID{"claim", "lost", "wait"}, tasks.enqueued)
	require.Equal(t, map[string]time.Duration{"backlog": 20 * time.Second, "broken": time.Minute}, store.postponed)
	require.Equal(t, report, r.Total())
}

func TestPass_CaseB12_ABacklogBreedsNoDuplicates(t *testing.T) {
	t.Parallel()
	store, tasks := &fakeStore{}, &fakeTasks{standing: map[execution.ID]bool{}}
	for i := range 250 {
		member := fmt.Sprintf("x%03d", i)
		store.entries = append(store.entries, entry(execution.Partition(i%64), member, journal.ActStanding))
		tasks.standing[execution.ID(member)] = true
	}
	report, err := newReaper(t, store, tasks, Config{}).Pass(t.Context())
	require.NoError(t, err)
	require.Empty(t, tasks.enqueued)
	require.Equal(t, int64(250), report.Postponed)
	require.Equal(t, []int{100, 100, 50}, tasks.asked, "look-ups are pipelined by 100, across partitions")
}

func TestPass_AQueueThatDoesNotAnswerMovesNothing(t *testing.T) {
	t.Parallel()
	store := &fakeStore{entries: []journal.Due{entry(1, "a", journal.ActStanding), entry(1, "b", journal.ActRequeue)}}
	tasks := &fakeTasks{down: errors.New("connection refused")}
	report, err := newReaper(t, store, tasks, Config{}).Pass(t.Context())
	require.ErrorContains(t, err, "look up 1 tasks")
	require.Equal(t, []string{"requeue b"}, store.handled, "a claim that ran out needs no look-up")
	require.Empty(t, store.postponed)
	require.Equal(t, int64(1), report.Unknown)
	require.Len(t, store.entries, 1)
}

func TestPass_CaseA6_OnePoisonedEntryNeverBlocksTheSweep(t *testing.T) {
	t.Parallel()
	store := &fakeStore{
		entries: []journal.Due{
			entry(1, "poison", journal.ActRequeue), entry(1, "gone", journal.ActExpire), entry(1, "fine", journal.ActRequeue),
			entry(1, "odd", "dance"),
		},
		fail: map[string]error{
			"poison": errors.New("WRONGTYPE"), "gone": fmt.Errorf("expire gone: %w", journal.ErrNotFound),
		},
	}
	tasks := &fakeTasks{}
	report, err := newReaper(t, store, tasks, Config{}).Pass(t.Context())
	require.ErrorContains(t, err, "poison set aside")
	require.Equal(t, []string{"requeue fine"}, store.handled)
	require.Equal(t, map[string]time.Duration{"poison": time.Minute, "odd": time.Minute}, store.postponed)
	require.Equal(t, int64(2), report.Bad)
	require.Equal(t, int64(1), report.MovedOn)
	require.Equal(t, []execution.ID{"fine"}, tasks.enqueued)
}

func TestPass_CaseA10_AStoreThatIsAwayLosesNoEntry(t *testing.T) {
	t.Parallel()
	away := fmt.Errorf("requeue: %w", journal.ErrUnavailable)
	store := &fakeStore{
		entries: []journal.Due{entry(1, "a", journal.ActRequeue), entry(2, "b", journal.ActRequeue), entry(3, "c", journal.ActRequeue)},
		fail:    map[string]error{"a": away}, down: map[execution.Partition]error{2: away},
	}
	r := newReaper(t, store, &fakeTasks{}, Config{})
	report, err := r.Pass(t.Context())
	require.ErrorIs(t, err, journal.ErrUnavailable)
	require.Empty(t, store.postponed, "what nobody could look at stays due")
	require.Equal(t, []string{"requeue c"}, store.handled)
	require.Equal(t, int64(2), report.Errors)
	store.fail, store.down = nil, nil
	_, err = r.Pass(t.Context())
	require.NoError(t, err)
	require.Empty(t, store.entries)
}

func TestPass_IsBrokenOffWhenTheWholeStoreIsAway(t *testing.T) {
	t.Parallel()
	store := &fakeStore{fail: make(map[string]error)}
	for i := range 1000 {
		member := fmt.Sprintf("x%d", i)
		store.entries = append(store.entries, entry(execution.Partition(i%64), member, journal.ActRequeue))
		store.fail[member] = journal.ErrUnavailable
	}
	report, err := newReaper(t, store, &fakeTasks{}, Config{}).Pass(t.Context())
	require.ErrorIs(t, err, journal.ErrUnavailable)
	require.Less(t, report.Errors, int64(maxAway+workers))
	require.Len(t, store.entries, 1000)
}

func TestPass_AFullPageIsSweptAgainWithinTheBudget(t *testing.T) {
	t.Parallel()
	store := &fakeStore{}
	for i := range 25 {
		store.entries = append(store.entries, entry(7, fmt.Sprintf("x%d", i), journal.ActRequeue))
	}
	report, err := newReaper(t, store, &fakeTasks{}, Config{Page: 10}).Pass(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(25), report.Requeued)
	require.Equal(t, execution.Partitions+2, store.sweeps)

	store.sweeps = 0
	for i := range 25 {
		store.entries = append(store.entries, entry(7, fmt.Sprintf("x%d", i), journal.ActRequeue))
	}
	report, err = newReaper(t, store, &fakeTasks{}, Config{Page: 10, Budget: time.Millisecond}).Pass(t.Context())
	require.NoError(t, err)
	require.LessOrEqual(t, report.Requeued, int64(25))
}

func TestPass_AFullPageThatCannotBeMovedIsNotSweptAgain(t *testing.T) {
	t.Parallel()
	store := &fakeStore{}
	for i := range 25 {
		store.entries = append(store.entries, entry(7, fmt.Sprintf("x%d", i), journal.ActStanding))
	}
	_, err := newReaper(t, store, &fakeTasks{down: errors.New("away")}, Config{Page: 10}).Pass(t.Context())
	require.Error(t, err)
	require.Equal(t, execution.Partitions, store.sweeps)
}

func TestPass_AnEnqueueThatFailsIsCountedAndLeftToTheDueIndex(t *testing.T) {
	t.Parallel()
	store := &fakeStore{entries: []journal.Due{entry(1, "a", journal.ActRequeue)}}
	report, err := newReaper(t, store, &fakeTasks{refuse: errors.New("OOM")}, Config{}).Pass(t.Context())
	require.ErrorContains(t, err, "enqueue a.0.9: OOM")
	require.Equal(t, int64(1), report.Requeued)
	require.Zero(t, report.Enqueued)
}

// stoppingStore ends the pass's context inside Requeue, as a SIGTERM at that moment would.
type stoppingStore struct {
	*fakeStore
	stop context.CancelFunc
}

func (s stoppingStore) Requeue(ctx context.Context, seen journal.Due) (journal.Requeued, error) {
	defer s.stop()
	return s.fakeStore.Requeue(ctx, seen)
}

func TestPass_CaseA13_AStopBetweenRequeueAndEnqueueStillEnqueues(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	store := stoppingStore{&fakeStore{entries: []journal.Due{entry(1, "a", journal.ActRequeue)}}, stop}
	tasks := &fakeTasks{}
	_, err := newReaper(t, store, tasks, Config{}).Pass(ctx)
	require.NoError(t, err)
	require.Equal(t, []execution.ID{"a"}, tasks.enqueued)
}

func TestPostponement_IsTheAgeOfTheWaitWithinBounds(t *testing.T) {
	t.Parallel()
	r := newReaper(t, &fakeStore{}, &fakeTasks{}, Config{Grace: 2 * time.Second})
	for age, want := range map[int64]time.Duration{
		-5: 2 * time.Second, 100: 2 * time.Second, 7000: 7 * time.Second, 3_600_000: time.Minute,
	} {
		require.Equal(t, want, r.postponement(journal.Due{NowMs: 10_000_000, SinceMs: 10_000_000 - age}))
	}
}

func TestRun_GoesOnAfterErrorsRepairsAndStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{down: map[execution.Partition]error{9: journal.ErrUnavailable}}
		tasks := &fakeTasks{}
		r := newReaper(t, store, tasks, Config{})
		ctx, cancel := context.WithTimeout(t.Context(), 65*time.Second)
		defer cancel()
		require.NoError(t, r.Run(ctx))
		total := r.Total()
		require.GreaterOrEqual(t, total.Passes, int64(65), "a pass at least every interval")
		require.LessOrEqual(t, total.Passes, int64(90))
		require.GreaterOrEqual(t, total.Errors, total.Passes)
		require.Equal(t, 3, tasks.repairs)
		require.Equal(t, int64(6), total.Repaired)
	})
}

// hangingTasks is a queue of which a part does not answer: a repair of it hangs.
type hangingTasks struct{ *fakeTasks }

func (q hangingTasks) Repair(ctx context.Context) (int, error) {
	_, _ = q.fakeTasks.Repair(ctx)
	<-ctx.Done()
	return 0, ctx.Err()
}

func TestRun_ARepairThatHangsHoldsUpNoPass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tasks := hangingTasks{&fakeTasks{}}
		r := newReaper(t, &fakeStore{}, tasks, Config{})
		ctx, cancel := context.WithTimeout(t.Context(), 65*time.Second)
		defer cancel()
		require.NoError(t, r.Run(ctx))
		require.GreaterOrEqual(t, r.Total().Passes, int64(65), "a pass at least every interval")
		require.GreaterOrEqual(t, tasks.repairs, 2, "a repair has its time, and comes again")
	})
}

func TestNew_RefusesWhatMakesNoSense(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]Config{
		"Interval": {Interval: -1}, "Grace": {Grace: -1}, "Page": {Page: -1}, "Budget": {Budget: -1},
		"RepairInterval": {RepairInterval: time.Microsecond},
	} {
		_, err := New(&fakeStore{}, &fakeTasks{}, cfg)
		require.ErrorContains(t, err, name)
	}
	_, err := New(nil, nil, Config{})
	require.Error(t, err)
}
