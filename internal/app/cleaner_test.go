package app

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/reaper"
)

func TestACleanerThatFailsKeepsNoOtherFromItsPart(t *testing.T) {
	t.Parallel()
	down, called := errors.New("down"), 0
	part := func(err error) reaper.Cleaner {
		return reaper.CleanerFunc(func(context.Context, journal.Execution) error {
			called++
			return err
		})
	}
	require.ErrorIs(t, cleaners{part(down), part(nil)}.Clean(t.Context(), journal.Execution{}), down)
	require.Equal(t, 2, called)
	require.NoError(t, cleaners{part(nil)}.Clean(t.Context(), journal.Execution{}))
}
