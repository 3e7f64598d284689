package memjournal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/journal/journaltest"
	"github.com/pawl-run/pawl/journal/memjournal"
)

func open(t *testing.T, cfg journal.Config) journaltest.Harness {
	t.Helper()
	store, err := memjournal.New(cfg)
	require.NoError(t, err)
	return journaltest.Harness{Store: store, Dump: store.Dump, Indexes: store.Indexes, DamageEvent: store.DamageEvent}
}

func TestTheModelIsAJournal(t *testing.T) {
	t.Parallel()
	journaltest.Run(t, open)
}

// The model against itself: what the differential test draws is valid, and the model is deterministic.
func TestTheModelAgreesWithItself(t *testing.T) {
	t.Parallel()
	journaltest.Differential(t, open, open)
}

func TestTreesOfTheModel(t *testing.T) {
	t.Parallel()
	journaltest.Trees(t, func(t *testing.T, cfg journal.Config) journaltest.Harness {
		t.Helper()
		store, err := memjournal.New(cfg)
		require.NoError(t, err)
		return journaltest.Harness{Store: store}
	})
}
