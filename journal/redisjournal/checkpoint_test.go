package redisjournal

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/journal"
)

// The payload stands behind its times as it came, whatever is in it.
func TestTheStoredFormOfCheckpoints(t *testing.T) {
	t.Parallel()
	w := open(t)
	id := w.reserve()
	w.now = w.now.Add(time.Second)
	c := w.claim(id, "n1")
	w.now = w.now.Add(250 * time.Millisecond)
	commit := next(c, journal.Then{Kind: journal.ThenContinue})
	commit.ClaimedAtMs, commit.Checkpoint = c.NowMs, []byte("1+2 3")
	_, err := w.store.Commit(w.ctx(), commit)
	require.NoError(t, err)
	list, err := w.rdb.LRange(w.ctx(), w.store.keys.execution(id)[keyCheckpoints], 0, -1).Result()
	require.NoError(t, err)
	require.Equal(t, []string{`1764420000000 {"v":1}`, `1764420001250+250 1+2 3`}, list)
	require.Equal(t, "1+2 3", string(w.claim(id, "n2").Checkpoint))
}

func TestAStoredCheckpointWithoutItsTimeIsRefused(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{"", `{"v":1}`, "+1 x", "1+ x", "1+-1 x", "1+x x", "x 1", "99999999999999999999 x"} {
		_, err := decodeCheckpoint(entry)
		require.ErrorIs(t, err, errEncoding, entry)
	}
	got, err := decodeCheckpoint("7 ")
	require.NoError(t, err)
	require.Equal(t, journal.StoredCheckpoint{Data: []byte{}, AtMs: 7}, got)
}
