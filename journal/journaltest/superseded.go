package journaltest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// supersede are the ways in which a holder loses its claim. Each is given an actor that holds one, with a plain step.
func supersede() map[string]func(a *actor) {
	return map[string]func(a *actor){
		"another worker claimed after the claim ran out": func(a *actor) { a.runOut().claim() },
		"the same worker claimed again": func(a *actor) {
			worker := a.row().Claim.Worker
			a.runOut().claim(func(q *journal.ClaimRequest) { q.Worker = worker })
		},
		"a cancel ended the execution after the claim ran out": func(a *actor) { a.runOut().cancel() },
		"a pause suspended it after the claim ran out":         func(a *actor) { a.runOut().pause() },
		"quarantine suspended it": func(a *actor) {
			a.runOut().claim()
			a.runOut()
			refused := &journal.ClaimRefused{}
			require.ErrorAs(a.b.t, a.tryClaim(func(q *journal.ClaimRequest) { q.MaxReclaims = 1 }), &refused)
			require.Equal(a.b.t, journal.ClaimQuarantine, refused.Reason)
		},
		"an operator took the claim back": func(a *actor) {
			change, err := a.b.Store.TakeBack(a.b.ctx(), a.id)
			require.NoError(a.b.t, err)
			require.True(a.b.t, change.Changed)
		},
		"an operator took the claim back, and another worker claimed": func(a *actor) {
			_, err := a.b.Store.TakeBack(a.b.ctx(), a.id)
			require.NoError(a.b.t, err)
			a.claim()
		},
		"it released the claim":  func(a *actor) { a.release() },
		"it committed the step":  func(a *actor) { a.commit(goOn()) },
		"it ended the execution": func(a *actor) { a.commit(completeWith("done")) },
		"the step was committed, and the next claimed, by another": func(a *actor) {
			a.runOut().claim().commit(goOn())
			a.claim()
		},
		"it never held a claim": func(a *actor) { a.hold.Fence += "x" },
		"its fence is empty":    func(a *actor) { a.hold.Fence = "" },
	}
}

// supersededHolder is the suite's core: whatever a superseded holder writes is refused and changes nothing.
func supersededHolder(t *testing.T, open Open) {
	t.Helper()
	calls := fencedCalls()
	names := append(holderMethods[journal.Steps](), holderMethods[journal.ExecutionJournal]()...)
	for _, name := range names {
		c, ok := calls[name]
		if !ok {
			t.Errorf("method %s takes a hold and has no case", name)
			continue
		}
		for way, lose := range supersede() {
			t.Run(name+" is refused after "+way, func(t *testing.T) {
				t.Parallel()
				b := newBench(t, open, nil)
				a := c.arrange(b)
				stale := a.hold
				lose(a)
				if slices.Contains([]string{"it never held a claim", "its fence is empty"}, way) {
					stale = a.hold
				}
				stale.Operation += 10 // a number that no call of its used
				for range 2 {
					b.unchanged(func() {
						_, err := c.do(a, stale)
						if name == "Commit" && committedBy(stale, b, a) {
							require.NoError(t, err, "a repeat of its own commit is answered")
							return
						}
						require.ErrorIs(t, err, journal.ErrFenced)
					})
				}
			})
		}
		t.Run("after "+name+" of a superseded holder was refused the holder's own succeeds", func(t *testing.T) {
			t.Parallel()
			b := newBench(t, open, nil)
			a := c.arrange(b)
			stale := a.hold
			stale.Operation++
			a.runOut().claim()
			b.unchanged(func() {
				_, err := c.do(a, stale)
				require.ErrorIs(t, err, journal.ErrFenced)
			})
			_, err := c.do(a, a.next())
			require.NoError(t, err)
		})
		t.Run("case B1, A20: "+name+" of a holder that nobody replaced counts although its claim ran out", func(t *testing.T) {
			t.Parallel()
			b := newBench(t, open, nil)
			a := c.arrange(b).runOut()
			_, err := c.do(a, a.next())
			require.NoError(t, err)
		})
	}
	t.Run("claiming one execution never disturbs another", func(t *testing.T) {
		t.Parallel()
		b := newBench(t, open, nil)
		one, other := b.planned(), b.planned()
		one.runOut().claim()
		_, err := b.Store.Commit(b.ctx(), other.commitOf(goOn()))
		require.NoError(t, err)
	})
}

// committedBy reports whether the stale hold is that of the last commit of step 1: repeating it is no refusal.
func committedBy(stale journal.Hold, b *bench, a *actor) bool {
	row, err := b.Store.Get(b.ctx(), a.id)
	require.NoError(b.t, err)
	return row.Step == execution.Step(2) && row.Claim == nil && stale.Fence == a.hold.Fence
}
