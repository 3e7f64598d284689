package app

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/reaper"
)

func TestACleanerThatFailsKeepsNoOtherFromItsPart(t *testing.T) {
	t.Parallel()
	down, called := errors.New("down"), atomic.Int32{}
	part := func(err error) reaper.Cleaner {
		return reaper.CleanerFunc(func(context.Context, journal.Execution) error {
			called.Add(1)
			return err
		})
	}
	require.ErrorIs(t, cleaners{part(down), part(nil)}.Clean(t.Context(), journal.Execution{}), down)
	require.EqualValues(t, 2, called.Load())
	require.NoError(t, cleaners{part(nil)}.Clean(t.Context(), journal.Execution{}))
}

// A remote agent that does not answer must not keep a delegation from being revoked.
func TestACleanerThatWaitsUsesUpNobodysTime(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	waits := reaper.CleanerFunc(func(ctx context.Context, _ journal.Execution) error {
		<-ctx.Done()
		return ctx.Err()
	})
	works := reaper.CleanerFunc(func(ctx context.Context, _ journal.Execution) error {
		defer cancel()
		return ctx.Err()
	})
	require.Equal(t, context.Canceled.Error(), cleaners{waits, works}.Clean(ctx, journal.Execution{}).Error(), "of the one that waited")
}
