package redisjournal

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// An entry that stands for nothing, of an execution without a delegation, would be looked at again and again until its row is
// purged.
func TestAnEntryWithNothingToCleanUpIsRemoved(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	_, err := p.store.Cancel(t.Context(), p.id)
	require.NoError(t, err)
	p.do("ZADD", p.store.keys.cleanup(7), "1", string(p.id))
	found, err := p.store.Cleanups(t.Context(), 7, 10)
	require.NoError(t, err)
	require.Empty(t, found)
	require.Zero(t, p.rdb.Exists(t.Context(), p.store.keys.cleanup(7)).Val())
	requireSound(t, p.store)
}
