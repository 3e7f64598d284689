package journaltest

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func claimClauses() []clause {
	return []clause{
		{name: "of many concurrent claimants exactly one is granted", run: claimOne},
		{name: "contract C, claim and JournalClaim: a live claim of anybody, the own worker's included, is busy", run: claimBusy},
		{name: "contract C, JournalClaim: a claim has expired at its very millisecond", run: claimExpiry},
		{name: "the same nonce repeats the answer", run: claimAgain},
		{name: "a reclaim names the worker whose claim ran out and the one that goes on", run: claimNames},
		{name: "the first claim starts the execution and its deadline", run: claimStarts},
		{name: "the fence grows with every claim and never falls", run: claimFence},
		{name: "case A11: the same worker claiming again gets a new fence", run: claimSameWorker},
		{name: "a claim of another step is stale or ahead", run: claimStep},
		{name: "contract C, terminal + claim: a claim of a state that needs no worker is refused", run: claimState},
		{name: "case A18: a renewed claim lasts, however long the node takes", run: renewLasts},
		{name: "renew moves only the expiry; version and events stay", run: renewQuiet},
		{name: "a renew of a holder that was superseded since is refused, also when it repeats one", run: renewAgain},
		{name: "many renewals at once answer as they would one by one", run: renewAll},
		{name: "case B11: the back-off floor is in the claim", run: claimEarly},
		{name: "case C3: a step reclaimed too often is quarantined with its node and workers", run: claimQuarantine},
		{name: "case A18: without a bound a step may be reclaimed for ever", run: claimUnbounded},
		{name: "a reclaim is counted, warned of, and writes no second started event", run: claimReclaim},
		{name: "from the second reclaim on a step's task is suspect, until the step commits", run: claimSuspect},
		{name: "the claim brings checkpoint, batch, inbox and, when asked for, the history from there on", run: claimBrings},
		{name: "case G3: a long history comes with the claim until it is enough, and in pages", run: claimLongHistory},
		{name: "a recorded cancel or pause takes effect in the claim", run: claimCarriesOut},
		{name: "the same nonce repeats what the claim did in place of granting, with its tasks", run: claimCarriedOutAgain},
		{name: "requests tells cancel, pause and a newer fence for each hold", run: requests},
		{name: "a claim without time or with a bad nonce is refused", run: claimInvalid},
	}
}

// refusal is the reason of a refused claim.
func refusal(t *testing.T, err error) *journal.ClaimRefused {
	t.Helper()
	refused := &journal.ClaimRefused{}
	require.ErrorAs(t, err, &refused)
	require.ErrorIs(t, err, journal.ErrConflict)
	return refused
}

func claimOne(t *testing.T, b *bench) {
	a := b.reserve()
	granted := make(chan journal.Fence, 20)
	var wg sync.WaitGroup
	for i := range 20 {
		q := a.request(func(q *journal.ClaimRequest) { q.Nonce = fmt.Sprint("n", i) })
		wg.Go(func() {
			if answer, err := b.Store.Claim(context.Background(), q); err == nil {
				granted <- answer.Fence
			}
		})
	}
	wg.Wait()
	require.Len(t, granted, 1)
}

func claimBusy(t *testing.T, b *bench) {
	a := b.reserve().claim()
	worker := a.row().Claim.Worker
	b.unchanged(func() {
		for _, w := range []journal.WorkerID{worker, "another"} {
			err := a.tryClaim(func(q *journal.ClaimRequest) { q.Worker = w })
			require.Equal(t, journal.ClaimBusy, refusal(t, err).Reason)
		}
	})
}

func claimExpiry(t *testing.T, b *bench) {
	a := b.reserve().claim()
	require.Equal(t, b.clock.Ms()+ttl.Milliseconds(), a.row().Claim.ExpiresAtMs)
	b.clock.Advance(ttl - time.Millisecond)
	require.Equal(t, journal.ClaimBusy, refusal(t, a.tryClaim()).Reason)
	b.clock.Advance(time.Millisecond)
	require.NoError(t, a.tryClaim())
}

// claimNames: whatever workers are called, the log stays readable.
func claimNames(t *testing.T, b *bench) {
	a := b.planned()
	from := a.row().Claim.Worker
	for _, to := range []journal.WorkerID{"plain", "\"<&>\\\n@FROM@é", "@TO@", "last"} {
		a.runOut()
		after := a.row().LastSequence
		a.claim(func(q *journal.ClaimRequest) { q.Worker = to })
		events, err := b.Store.Events(b.ctx(), a.id, after, 10)
		require.NoError(t, err)
		require.Len(t, events, 1)
		require.Equal(t, &execution.Warning{
			Code:    execution.WarningReclaimed,
			Message: "the claim of worker " + string(from) + " on this step ran out; worker " + string(to) + " goes on",
		}, events[0].Payload)
		from = to
	}
}

func claimAgain(t *testing.T, b *bench) {
	a := b.planned()
	a.runOut()
	q := a.request()
	first, err := b.Store.Claim(b.ctx(), q)
	require.NoError(t, err)
	require.True(t, first.Reclaimed)
	b.clock.Advance(time.Second)
	b.unchanged(func() {
		again, err := b.Store.Claim(b.ctx(), q)
		require.NoError(t, err)
		require.Equal(t, text(t, a, first), text(t, a, again))
	})
	b.clock.Advance(ttl)
	late, err := b.Store.Claim(b.ctx(), q)
	require.NoError(t, err)
	require.NotEqual(t, first.Fence, late.Fence, "after its time the nonce is nothing special")
}

func claimStarts(t *testing.T, b *bench) {
	a := b.reserve(func(n *journal.NewExecution) { n.Deadline = time.Hour })
	version := a.row().Version
	b.clock.Advance(time.Second)
	a.claim()
	row := a.row()
	require.Equal(t, execution.Running, row.State)
	require.Equal(t, b.clock.Ms(), row.StartedAtMs)
	require.Equal(t, b.clock.Ms()+time.Hour.Milliseconds(), row.DeadlineAtMs)
	require.Equal(t, version+1, row.Version)
	require.Equal(t, b.clock.Ms(), a.claimed.NowMs)
	require.False(t, a.claimed.Reclaimed)
	require.Equal(t, []execution.EventType{execution.TypeExecutionQueued, execution.TypeExecutionStarted}, a.types())
	a.release()
	version = a.row().Version
	a.claim()
	require.Equal(t, version, a.row().Version, "only the first claim can be seen")
}

// counter is the number in a fence.
func counter(t *testing.T, fence journal.Fence) (n int) {
	t.Helper()
	number, _, _ := strings.Cut(string(fence), "-")
	_, err := fmt.Sscan(number, &n)
	require.NoError(t, err)
	return n
}

func claimFence(t *testing.T, b *bench) {
	a := b.reserve()
	last := 0
	for i, between := range []func(){
		func() { a.release() }, func() { a.commit(goOn()) }, func() { a.runOut() },
		func() { a.runOut().pause(); a.resume() }, func() { a.runOut(); a.requeue() },
	} {
		q := a.request()
		answer, err := b.Store.Claim(b.ctx(), q)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("%d-%s", counter(t, answer.Fence), q.Nonce), string(answer.Fence))
		require.Greater(t, counter(t, answer.Fence), last, "claim %d", i)
		last = counter(t, answer.Fence)
		a.hold = journal.Hold{Execution: a.id, Fence: answer.Fence}
		between()
	}
	a.claim()
	require.Equal(t, last+1, counter(t, a.hold.Fence), "requeue leaves the fence")
}

// requeue does what the reaper does when the entry's time has come.
func (a *actor) requeue() journal.Requeued {
	a.b.t.Helper()
	answer, err := a.b.Store.Requeue(a.b.ctx(), a.due())
	require.NoError(a.b.t, err)
	a.tasks = answer.Tasks
	return answer
}

func claimSameWorker(t *testing.T, b *bench) {
	a := b.reserve()
	same := func(q *journal.ClaimRequest) { q.Worker = "worker" }
	first := a.claim(same).hold.Fence
	a.runOut().claim(same)
	require.NotEqual(t, first, a.hold.Fence)
	require.Equal(t, []journal.WorkerID{"worker"}, a.row().ReclaimWorkers)
}

func claimStep(t *testing.T, b *bench) {
	a := b.reserve().claim()
	a.commit(goOn())
	at := func(step execution.Step) func(*journal.ClaimRequest) {
		return func(q *journal.ClaimRequest) { q.Step = &step }
	}
	b.unchanged(func() {
		require.Equal(t, journal.ClaimStale, refusal(t, a.tryClaim(at(0))).Reason)
		require.Equal(t, journal.ClaimAhead, refusal(t, a.tryClaim(at(2))).Reason)
	})
	require.NoError(t, a.tryClaim(at(1)))
}

func claimState(t *testing.T, b *bench) {
	for _, state := range execution.States()[2:] {
		a := b.arrange(state)
		b.unchanged(func() { require.Equal(t, journal.ClaimState, refusal(t, a.tryClaim()).Reason) })
	}
}

func claimEarly(t *testing.T, b *bench) {
	a := b.reserve().claim()
	a.release(retryAfter(10 * time.Second))
	b.clock.Advance(4 * time.Second)
	b.unchanged(func() {
		refused := refusal(t, a.tryClaim())
		require.Equal(t, journal.ClaimEarly, refused.Reason)
		require.Equal(t, 6*time.Second, refused.RetryAfter)
	})
	a.pause()
	a.resume()
	require.Empty(t, a.tasks, "resume is no way around it")
	require.Equal(t, journal.ClaimEarly, refusal(t, a.tryClaim()).Reason)
	b.clock.Advance(6 * time.Second)
	require.NoError(t, a.tryClaim())
}

func retryAfter(d time.Duration) func(*journal.Release) {
	return func(r *journal.Release) {
		r.Retry = &journal.Retry{Node: "model", Code: "rate_limited", Message: strings.Repeat("é", execution.MaxRetryText), After: d}
	}
}

func claimQuarantine(t *testing.T, b *bench) {
	a := b.planned()
	bounded := func(q *journal.ClaimRequest) { q.MaxReclaims = 3 }
	for range 3 {
		a.runOut().claim(bounded)
	}
	workers := append(a.row().ReclaimWorkers, a.row().Claim.Worker)
	fence := a.hold.Fence
	a.runOut()
	require.Equal(t, journal.ClaimQuarantine, refusal(t, a.tryClaim(bounded)).Reason)
	row := a.row()
	require.Equal(t, execution.Suspended, row.State)
	want := journal.QuarantineSuspension("node_1", workers)
	require.Equal(t, &want, row.Suspension)
	require.Len(t, workers, 4)
	for _, worker := range workers {
		require.Contains(t, want.Detail, string(worker))
	}
	require.Nil(t, row.Claim)
	a.resume()
	require.Zero(t, a.row().Reclaims)
	require.Empty(t, a.row().ReclaimWorkers)
	a.claim(bounded)
	require.Greater(t, counter(t, a.hold.Fence), counter(t, fence)+1, "quarantine raised the fence")
}

func claimUnbounded(t *testing.T, b *bench) {
	a := b.reserve().claim()
	for n := range 20 {
		a.runOut().claim()
		require.Equal(t, n+1, a.row().Reclaims)
	}
}

func claimReclaim(t *testing.T, b *bench) {
	a := b.reserve().claim()
	version := a.row().Version
	a.runOut().claim()
	require.True(t, a.claimed.Reclaimed)
	require.Equal(t, []execution.EventType{
		execution.TypeExecutionQueued, execution.TypeExecutionStarted, execution.TypeWarning,
	}, a.types())
	require.Equal(t, version, a.row().Version)
	a.commit(goOn())
	require.Zero(t, a.row().Reclaims)
	require.Empty(t, a.row().ReclaimWorkers)
	a.claim()
	require.False(t, a.claimed.Reclaimed)
}

func claimSuspect(t *testing.T, b *bench) {
	a := b.reserve().claim().runOut()
	require.Equal(t, "default", a.requeue().Tasks[0].Queue, "the first reclaim")
	a.claim().runOut()
	require.Equal(t, execution.SuspectQueue, a.requeue().Tasks[0].Queue, "the second")
	a.claim()
	require.Equal(t, execution.SuspectQueue, a.release().Tasks[0].Queue, "it stays so")
	a.claim()
	require.Equal(t, "default", a.commit(goOn()).Tasks[0].Queue)
}

func claimBrings(t *testing.T, b *bench) {
	a := b.reserve().claim()
	require.Nil(t, a.claimed.Messages, "nobody asked for the history")
	a.commit(goOn(), func(q *journal.Commit) {
		q.Messages, q.ReadsHistory = [][]byte{[]byte("one"), []byte("two")}, true
		q.Plan = []journal.Plan{{CallID: "a", Intent: []byte("ia")}, {CallID: "b", Intent: []byte("ib")}}
		q.Batch = []execution.CallID{"b", "missing", "a"}
	})
	a.claim(func(q *journal.ClaimRequest) { q.KnownMessages = 2 })
	require.Equal(t, "checkpoint 1", string(a.claimed.Checkpoint))
	require.Equal(t, [][]byte{[]byte("two")}, a.claimed.Messages)
	require.Equal(t, canonical(t, []journal.LedgerEntry{
		{CallID: "b", State: journal.Planned, Intent: []byte("ib")},
		{CallID: "missing"},
		{CallID: "a", State: journal.Planned, Intent: []byte("ia")},
	}), canonical(t, a.claimed.Ledger))
	a.commit(goOn())
	a.claim()
	require.Empty(t, a.claimed.Ledger)
	require.Nil(t, a.claimed.Messages)
	require.Zero(t, a.claimed.HistoryLength)
	a.release()
	a.claim(func(q *journal.ClaimRequest) { q.History, q.KnownMessages = true, 1 })
	require.Equal(t, [][]byte{[]byte("one"), []byte("two")}, a.claimed.Messages, "the caller asked for it")
	require.Equal(t, 3, a.claimed.HistoryLength)
}

func claimLongHistory(t *testing.T, b *bench) {
	const size = 1 << 20
	a := b.reserve().claim()
	a.commit(goOn(), func(q *journal.Commit) {
		q.ReadsHistory = true
		for i := range 40 {
			q.Messages = append(q.Messages, bytes.Repeat([]byte{byte('a' + i%26)}, size/2))
		}
	})
	a.claim()
	require.Equal(t, 41, a.claimed.HistoryLength)
	require.Len(t, a.claimed.Messages, 1+2*journal.ClaimHistoryBytes/size)
	require.Equal(t, "hello", string(a.claimed.Messages[0]))
	rest, err := b.Store.Messages(b.ctx(), a.id, len(a.claimed.Messages), 100)
	require.NoError(t, err)
	require.Len(t, rest, 41-len(a.claimed.Messages))
	last := a.claimed.Messages[len(a.claimed.Messages)-1]
	require.Equal(t, last[0]+1, rest[0][0], "the rest follows without a gap")
	a.release()
	a.claim(func(q *journal.ClaimRequest) { q.KnownMessages = 39 })
	require.Len(t, a.claimed.Messages, 2)
	require.Equal(t, 41, a.claimed.HistoryLength)
	a.release()
	a.claim(func(q *journal.ClaimRequest) { q.KnownMessages = 99 })
	require.Empty(t, a.claimed.Messages)
}

func claimCarriesOut(t *testing.T, b *bench) {
	a := b.reserve().claim()
	a.cancel()
	a.runOut()
	require.Equal(t, journal.ClaimEnded, refusal(t, a.tryClaim()).Reason)
	require.Equal(t, execution.Canceled, a.state())

	a = b.reserve().claim()
	a.pause()
	a.runOut()
	require.Equal(t, journal.ClaimPaused, refusal(t, a.tryClaim()).Reason)
	require.Equal(t, execution.ReasonPaused, a.row().Suspension.Reason)
	require.False(t, a.row().PauseRequested)
}

func claimCarriedOutAgain(t *testing.T, b *bench) {
	a := b.reserve().claim()
	next := a.follow()
	a.cancel()
	q := a.runOut().request()
	_, err := b.Store.Claim(b.ctx(), q)
	first := refusal(t, err)
	require.Equal(t, next.id, first.Tasks[0].Execution)
	b.unchanged(func() {
		_, err := b.Store.Claim(b.ctx(), q)
		require.Equal(t, first, refusal(t, err))
		require.Equal(t, journal.ClaimState, refusal(t, a.tryClaim()).Reason, "another nonce")
	})

	a = b.reserve().claim()
	a.pause()
	q = a.runOut().request()
	for range 2 {
		_, err = b.Store.Claim(b.ctx(), q)
		require.Equal(t, journal.ClaimPaused, refusal(t, err).Reason)
	}
}

func requests(t *testing.T, b *bench) {
	plain, canceled, paused, lost := b.planned(), b.planned(), b.planned(), b.planned()
	canceled.cancel()
	paused.pause()
	gone := journal.Hold{Execution: testID(thePartition, 777), Fence: "1-x"}
	holds := []journal.Hold{plain.hold, canceled.hold, paused.hold, lost.hold, gone}
	lost.commit(goOn())
	b.unchanged(func() {
		answer, err := b.Store.Requests(b.ctx(), holds)
		require.NoError(t, err)
		require.Equal(t, []journal.Request{
			{}, {CancelRequested: true}, {PauseRequested: true}, {Superseded: true}, {Superseded: true},
		}, answer)
		none, err := b.Store.Requests(b.ctx(), nil)
		require.NoError(t, err)
		require.Empty(t, none)
	})
}

func claimInvalid(t *testing.T, b *bench) {
	a := b.reserve()
	b.unchanged(func() {
		for _, change := range []func(*journal.ClaimRequest){
			func(q *journal.ClaimRequest) { q.TTL = 0 }, func(q *journal.ClaimRequest) { q.Nonce = "" },
			func(q *journal.ClaimRequest) { q.Nonce = "a-b" },
			func(q *journal.ClaimRequest) { q.Nonce = strings.Repeat("n", 33) },
		} {
			_, err := b.Store.Claim(b.ctx(), a.request(change))
			require.ErrorIs(t, err, journal.ErrConflict)
		}
	})
}
