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

// One that somebody has damaged is its reader's to refuse: it hides no other one, and its execution is suspended with a reason.
func TestAStoredCheckpointWhoseTimeCannotBeReadIsGivenAsItStands(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{
		"", `{"v":1}`, "+1 x", "1+ x", "1+-1 x", "1+x x", "x 1", "99999999999999999999 x", "-1 x", "0 x", "5+6 x", "5+9223372036854775807 x",
	} {
		require.Equal(t, journal.StoredCheckpoint{Data: []byte(entry)}, decodeCheckpoint(entry), entry)
	}
	require.Equal(t, journal.StoredCheckpoint{Data: []byte{}, AtMs: 7}, decodeCheckpoint("7 "))

	w := open(t)
	id := w.reserve()
	w.commit(w.claim(id, "n1"), journal.Then{Kind: journal.ThenContinue})
	w.commit(w.claim(id, "n2"), journal.Then{Kind: journal.ThenContinue})
	list := w.store.keys.execution(id)[keyCheckpoints]
	require.NoError(t, w.rdb.LSet(w.ctx(), list, 1, "what is this").Err())
	found, err := w.store.Checkpoints(w.ctx(), id, 0, 10)
	require.NoError(t, err)
	require.Len(t, found, 3)
	require.Equal(t, journal.StoredCheckpoint{Data: []byte("what is this")}, found[1])
	require.Equal(t, `{"v":1}`, string(found[2].Data))
	require.NoError(t, w.rdb.LSet(w.ctx(), list, 2, "what is this").Err())
	require.Equal(t, "what is this", string(w.claim(id, "n3").Checkpoint))
}
