package journaltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Differential drives two stores with the same random operations and compares everything that can be observed: answers,
// refusals, rows, events, checkpoints, messages, ledgers, tasks, indexes and sweeps. Ids, nonces and the clock come from
// the test, so both must give the very same.
//
// The operations are random and mostly sensible: several executions, some in one conversation; fences that are current,
// old or made up; steps and numbers that are right, repeated or wrong; time that stands still or leaps.
func Differential(t *testing.T, openA, openB Open) {
	t.Helper()
	rapid.Check(t, func(rt *rapid.T) {
		d := newDifferential(t, rt, openA, openB)
		for n := range rapid.IntRange(1, 120).Draw(rt, "operations") {
			d.step()
			if n%indexesEvery == 0 {
				d.compareIndexes()
			}
		}
		d.compareIndexes()
		d.compareAll()
		for _, store := range []journal.Store{d.a.Store, d.b.Store} {
			if auditor, ok := store.(journal.Auditor); ok {
				_, err := auditor.Audit(bounded(rt), false, func(found journal.Finding) { rt.Fatalf("%+v", found) })
				require.NoError(rt, err)
			}
		}
	})
}

// differential is one run.
type differential struct {
	t     *rapid.T
	clock *Clock
	a, b  Harness
	runs  []*run
	seen  []journal.Due
	// uncleaned are the clean-ups that were seen.
	uncleaned []journal.Cleanup
	history   []operation
	count     int
	last      string // what was done last
}

// run is one execution of a run.
type run struct {
	id        execution.ID
	conv      execution.ConversationID
	holds     []journal.Hold // newest last; Operation is the last used
	submitted journal.NewExecution
}

// operation is one call with its arguments.
type operation struct {
	name string
	call func(s journal.Store) (any, error)
}

const (
	rounds       = time.Minute // bounds one call
	maxRuns      = 5           // executions of a run
	indexesEvery = 7           // operations between two looks at the indexes, which cost a scan of all keys
)

func newDifferential(t *testing.T, rt *rapid.T, openA, openB Open) *differential {
	t.Helper()
	d := &differential{t: rt, clock: NewClock()}
	cfg := journal.Config{
		SweepLock: -1, Now: d.clock.Now, MaxEvents: one(d, "events kept", 8, 20, 1000), MaxWaiting: 2, Retention: 10 * time.Minute, LookAgain: time.Hour,
	}
	d.a, d.b = openA(t, cfg), openB(t, cfg)
	return d
}

// step draws an operation and does it to both stores: mostly one that makes sense where an execution stands.
func (d *differential) step() {
	if len(d.runs) == 0 || len(d.runs) < maxRuns && d.rarely(12, "another execution") {
		d.reserve()
		return
	}
	kinds := []func(*run){
		d.claim, d.commit, d.release, d.record, d.renew, d.numbered, d.input, d.steer, d.cleanup, d.repeat, d.repeat, d.read, d.reap,
		d.spawn, d.cleanUp,
	}
	r := d.pick()
	if !d.rarely(4, "anything") {
		kinds = d.sensible(r)
	}
	kinds[d.below(len(kinds), "kind")](r)
}

// sensible are operations that move the execution on.
func (d *differential) sensible(r *run) []func(*run) {
	row := d.row(r)
	switch {
	case row.State == execution.WaitingForInput:
		return []func(*run){d.input, d.input, d.reap, d.reap, d.steer}
	case row.State == execution.Suspended:
		return []func(*run){d.steer, d.steer, d.reap}
	case row.State == execution.Finalizing:
		return []func(*run){d.cleanup, d.cleanUp, d.cleanUp, d.reap, d.numbered, d.numbered}
	case row.State.Terminal() || row.State == journal.Gone:
		return []func(*run){d.reap, d.read, d.steer, d.cleanUp, func(*run) { d.reserve() }}
	case row.Claim == nil || row.Claim.ExpiresAtMs <= d.clock.Ms():
		return []func(*run){d.claim, d.claim, d.claim, d.reap, d.commit}
	default:
		return []func(*run){
			d.commit, d.commit, d.commit, d.record, d.record, d.renew, d.numbered, d.release, d.steer, d.reap, d.spawn, d.spawn,
		}
	}
}

// do calls both stores and compares.
func (d *differential) do(name string, call func(s journal.Store) (any, error)) {
	_, _ = d.ask(name, call) // a refusal is as good an answer as any: both gave it
}

// ask is do for those who need the answer.
func (d *differential) ask(name string, call func(s journal.Store) (any, error)) (any, error) {
	answer, err := d.look(name, call)
	d.compareRows()
	return answer, err
}

// look compares the answers alone: after a row of calls that only read, one look at the rows is enough.
func (d *differential) look(name string, call func(s journal.Store) (any, error)) (any, error) {
	d.last = name
	a, errA := call(d.a.Store)
	b, errB := call(d.b.Store)
	d.t.Logf("%d %s: %v", d.clock.Ms(), name, errB)
	require.Equal(d.t, refusalText(d.t, errA), refusalText(d.t, errB), "%s: %v / %v", name, errA, errB)
	if errA == nil {
		requireSame(d.t, a, b, "%s: the answers differ", name)
	}
	d.history = append(d.history, operation{name, call})
	return a, errA
}

// refusalText is what callers can tell about an error.
func refusalText(t tester, err error) string {
	if err == nil {
		return "none"
	}
	var kinds []string
	for _, sentinel := range []error{
		journal.ErrNotFound, journal.ErrFenced, journal.ErrConflict, journal.ErrState, journal.ErrConversationBusy,
		journal.ErrKeyReused, journal.ErrGone, journal.ErrCleanupOpen, journal.ErrInteractionClosed, journal.ErrLimit,
		journal.ErrOverloaded, journal.ErrUnavailable,
	} {
		if errors.Is(err, sentinel) {
			kinds = append(kinds, sentinel.Error())
		}
	}
	refused := &journal.ClaimRefused{}
	if errors.As(err, &refused) {
		kinds = append(kinds, canonical(t, refused))
	}
	if len(kinds) == 0 {
		kinds = append(kinds, "something else: "+err.Error())
	}
	return fmt.Sprint(kinds)
}

// compareRows compares every row.
func (d *differential) compareRows() {
	for _, r := range d.runs {
		ctx, cancel := context.WithTimeout(context.Background(), rounds)
		a, errA := d.a.Store.Get(ctx, r.id)
		b, errB := d.b.Store.Get(ctx, r.id)
		cancel()
		require.Equal(d.t, refusalText(d.t, errA), refusalText(d.t, errB), "get after %s", d.last)
		requireSame(d.t, a, b, "the rows differ after %s", d.last)
	}
}

// compareIndexes compares where every entry stands.
func (d *differential) compareIndexes() {
	requireSame(d.t, d.a.Indexes(), d.b.Indexes(), "the indexes differ after %s", d.last)
}

// compareAll compares what can be read.
func (d *differential) compareAll() {
	for _, r := range d.runs {
		d.readAll(r)
	}
	for _, state := range append(execution.States(), "") {
		d.list(journal.Listing{State: state})
		d.list(journal.Listing{State: state, Own: true})
	}
	for n := range 3 {
		d.list(journal.Listing{ConversationID: testConversation(thePartition, 1+n)})
	}
	_, _ = d.look("open", func(s journal.Store) (any, error) { return s.OpenExecutions(bounded(d.t)) })
	d.recoverable()
	d.cleanups() // and a look at the rows, behind all that was read
}

// list compares a listing of the caller's: there are never so many rows that it takes a second page.
func (d *differential) list(l journal.Listing) {
	l.Caller, l.Limit = caller(), journal.MaxListed
	_, _ = d.look("list", func(s journal.Store) (any, error) {
		page, err := s.List(bounded(d.t), l)
		return page.Executions, err
	})
}

// readAll compares what one execution has; the caller looks at the rows after it.
func (d *differential) readAll(r *run) {
	_, _ = d.look("events", func(s journal.Store) (any, error) { return s.EventPage(bounded(d.t), r.id, 0, 1000) })
	_, _ = d.look("checkpoints", func(s journal.Store) (any, error) { return s.Checkpoints(bounded(d.t), r.id, 0, 1000) })
	_, _ = d.look("messages", func(s journal.Store) (any, error) { return s.Messages(bounded(d.t), r.id, 0, 1000) })
	_, _ = d.look("children", func(s journal.Store) (any, error) { return s.Children(bounded(d.t), r.id) })
	_, _ = d.look("ledger", func(s journal.Store) (any, error) { return s.Ledger(bounded(d.t), r.id, calls()) })
}

// recoverable compares the rows as a set: the order of rows of one score is free.
func (d *differential) recoverable() {
	_, _ = d.look("recoverable", func(s journal.Store) (any, error) {
		rows, err := s.Recoverable(bounded(d.t), 1000)
		slices.SortFunc(rows, func(a, b journal.Execution) int {
			if a.ID < b.ID {
				return -1
			}
			return 1
		})
		return rows, err
	})
}

// bounded is a context for one call.
func bounded(t *rapid.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), rounds)
	t.Cleanup(cancel)
	return ctx
}

func calls() []execution.CallID { return []execution.CallID{"call_0_0", "call_0_1", "call_1_0"} }
