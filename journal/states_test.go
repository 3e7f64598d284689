package journal_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func TestTheTableNamesEveryMoveOnce(t *testing.T) {
	t.Parallel()
	seen := map[journal.Move]bool{}
	for _, rule := range journal.StateTable() {
		require.False(t, seen[rule.Move], rule.Move)
		seen[rule.Move] = true
		require.NotEmpty(t, rule.From, rule.Move)
		require.NotEmpty(t, rule.To, rule.Move)
		require.Equal(t, rule.From, journal.Allowed(rule.Move))
		for _, state := range rule.From {
			require.True(t, state.Valid(), rule.Move)
		}
		for _, state := range rule.To {
			require.True(t, state.Valid() || state == journal.Gone, rule.Move)
		}
	}
	require.Nil(t, journal.Allowed("fly"))
}

func TestATerminalStateIsNeverLeftButByAPurgeOrADelete(t *testing.T) {
	t.Parallel()
	for _, rule := range journal.StateTable() {
		for _, from := range rule.From {
			if !from.Terminal() || rule.Move == journal.MovePurge || rule.Move == journal.MoveDelete {
				continue
			}
			require.Contains(t, rule.To, from, "%s", rule.Move)
			keep := []journal.Move{journal.MoveCompleteDelegation, journal.MoveCompleteCleanup}
			require.Contains(t, keep, rule.Move, "it keeps the state")
		}
	}
}

func TestEveryStateIsReachedAndEveryOpenOneIsLeft(t *testing.T) {
	t.Parallel()
	reached := []execution.State{execution.Queued}
	for range execution.States() {
		for _, rule := range journal.StateTable() {
			for _, from := range rule.From {
				if slices.Contains(reached, from) {
					reached = append(reached, rule.To...)
				}
			}
		}
		slices.Sort(reached)
		reached = slices.Compact(reached)
	}
	for _, state := range execution.States() {
		require.Contains(t, reached, state)
		if state.Terminal() {
			continue
		}
		var ends bool
		for _, rule := range journal.StateTable() {
			if slices.Contains(rule.From, state) {
				ends = ends || slices.ContainsFunc(rule.To, func(to execution.State) bool { return to != state })
			}
		}
		require.True(t, ends, "nothing leads out of %s", state)
	}
}
