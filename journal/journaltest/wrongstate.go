package journaltest

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// effect is what a command does in a state.
type effect struct {
	err     error // the refusal; nil: the call succeeds
	changes bool
}

func refuses(err error) effect { return effect{err: err} }

// nothing: the call succeeds and changes nothing.
func nothing() effect { return effect{} }

func changes() effect { return effect{changes: true} }

// commandCase is a command and what it does in every state.
type commandCase struct {
	do func(a *actor) error
	in func(state execution.State) effect
}

// commandCases are the commands. The suite fails when journal.Commands has one that is missing here.
func commandCases() map[string]commandCase {
	is := func(state execution.State, in ...execution.State) bool { return slices.Contains(in, state) }
	return map[string]commandCase{
		"Reserve": {func(a *actor) error {
			_, err := a.b.Store.Reserve(a.b.ctx(), a.b.submission(func(n *journal.NewExecution) { n.ID = a.id }))
			return err
		}, func(execution.State) effect { return refuses(journal.ErrConflict) }},
		"CommitInteractionInput": {func(a *actor) error {
			_, err := a.b.Store.CommitInteractionInput(a.b.ctx(), a.id, theInput())
			return err
		}, func(s execution.State) effect {
			if s == execution.WaitingForInput {
				return changes()
			}
			return refuses(journal.ErrInteractionClosed)
		}},
		"Cancel": {func(a *actor) error {
			_, err := a.b.Store.Cancel(a.b.ctx(), a.id)
			return err
		}, func(s execution.State) effect {
			switch {
			case s == execution.Finalizing:
				return refuses(journal.ErrState)
			case s.Terminal():
				return nothing()
			}
			return changes()
		}},
		"Pause": {
			func(a *actor) error { _, err := a.b.Store.Pause(a.b.ctx(), a.id); return err },
			func(s execution.State) effect {
				switch {
				case s == execution.Finalizing || s.Terminal():
					return refuses(journal.ErrState)
				case s == execution.Suspended:
					return nothing()
				}
				return changes()
			},
		},
		"Resume": {
			func(a *actor) error { _, err := a.b.Store.Resume(a.b.ctx(), a.id, journal.Resumption{}); return err },
			func(s execution.State) effect {
				switch {
				case s == execution.Finalizing || s.Terminal():
					return refuses(journal.ErrState)
				case s != execution.Suspended:
					return nothing()
				}
				return changes()
			},
		},
		"TakeBack": {
			func(a *actor) error { _, err := a.b.Store.TakeBack(a.b.ctx(), a.id); return err },
			func(s execution.State) effect {
				if s.Terminal() {
					return refuses(journal.ErrState)
				}
				return nothing() // nobody holds what was arranged
			},
		},
		"Delete": {
			func(a *actor) error { return a.b.Store.Delete(a.b.ctx(), a.id) },
			func(s execution.State) effect {
				if s.Terminal() {
					return changes()
				}
				return refuses(journal.ErrState)
			},
		},
		"Delegate": {func(a *actor) error {
			_, err := a.b.Store.Delegate(a.b.ctx(), a.id, theDelegation())
			return err
		}, func(s execution.State) effect {
			if is(s, execution.Finalizing) {
				return nothing() // what was arranged has this very lease
			}
			return refuses(journal.ErrState)
		}},
		"RefuseDelegation": {func(a *actor) error {
			_, err := a.b.Store.RefuseDelegation(a.b.ctx(), a.id, theRefusal())
			return err
		}, func(s execution.State) effect {
			if s.Terminal() {
				return nothing()
			}
			return refuses(journal.ErrState)
		}},
		"CompleteDelegationCleanup": {func(a *actor) error {
			_, err := a.b.Store.CompleteDelegationCleanup(a.b.ctx(), a.id, theLease)
			return err
		}, func(s execution.State) effect {
			if is(s, execution.Finalizing) {
				return changes()
			}
			return refuses(journal.ErrConflict) // in a terminal one because no delegation is attached
		}},
		"CompleteCleanup": {func(a *actor) error {
			_, err := a.b.Store.CompleteCleanup(a.b.ctx(), a.id, theCleanup())
			return err
		}, func(s execution.State) effect {
			if is(s, execution.Finalizing) || s.Terminal() {
				return nothing() // nothing is to be undone
			}
			return refuses(journal.ErrState)
		}},
	}
}

// wrongState drives every command in every state; the list of commands comes from the interface.
func wrongState(t *testing.T, open Open) {
	t.Helper()
	cases := commandCases()
	for _, name := range methods[journal.Commands]() {
		c, ok := cases[name]
		if !ok {
			if !readingMethods()[name] {
				t.Errorf("command %s has no case", name)
			}
			continue
		}
		for _, state := range execution.States() {
			t.Run(name+" in "+string(state), func(t *testing.T) {
				t.Parallel()
				commandIn(t, newBench(t, open, nil), c, state)
			})
		}
		if name == "Reserve" {
			continue
		}
		t.Run(name+" of an unknown execution is refused", func(t *testing.T) {
			t.Parallel()
			b := newBench(t, open, nil)
			a := b.arrange(execution.Running)
			a.id = testID(thePartition, 12345)
			b.unchanged(func() { require.ErrorIs(t, c.do(a), journal.ErrNotFound) })
		})
	}
	for _, name := range methods[journal.Recovery]() {
		if readingMethods()[name] {
			continue
		}
		do, ok := recoveryCalls()[name]
		if !ok {
			t.Errorf("method %s of the reaper has no case", name)
			continue
		}
		for _, state := range execution.States() {
			t.Run(name+" of an entry that moved on, in "+string(state), func(t *testing.T) {
				t.Parallel()
				recoverMoved(t, newBench(t, open, nil), do, state)
			})
		}
	}
}

func commandIn(t *testing.T, b *bench, c commandCase, state execution.State) {
	t.Helper()
	a := b.arrange(state)
	want := c.in(state)
	if want.changes {
		before := b.Dump()
		require.NoError(t, c.do(a))
		require.NotEqual(t, before, b.Dump())
		return
	}
	b.unchanged(func() {
		if err := c.do(a); want.err != nil {
			require.ErrorIs(t, err, want.err)
		} else {
			require.NoError(t, err)
		}
	})
}

// recoverMoved calls the reaper's method with an entry that is not due, has another score, another index, or no row.
func recoverMoved(
	t *testing.T, b *bench, do func(*bench, journal.Due) (journal.Requeued, error), state execution.State,
) {
	t.Helper()
	a := b.arrange(state)
	quiet := func(d journal.Due, why string) {
		b.unchanged(func() {
			answer, err := do(b, d)
			require.NoError(t, err, why)
			require.False(t, answer.Moved, why)
		})
	}
	quiet(a.entry(), "not due yet")
	seen := a.due()
	late := seen
	late.AtMs--
	quiet(late, "another score")
	moved := seen
	moved.Index = "handoff"
	if seen.Index == "handoff" {
		moved.Index = "due"
	}
	quiet(moved, "another index")
	gone := seen
	gone.Member = string(testID(thePartition, 12345))
	quiet(gone, "no such row")
	b.clock.Advance(time.Millisecond)
}
