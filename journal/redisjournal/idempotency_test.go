package redisjournal

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// keyed is a submission with a key. conversation decides the partition; empty: the key's own.
func keyed(key, fingerprint string, conversation execution.ConversationID) journal.NewExecution {
	caller := execution.LocalCaller()
	p := execution.KeyPartition(caller, key)
	if conversation == "" {
		conversation = execution.DerivedConversationID(p, caller, key)
	}
	n := newExecution(conversation.Partition(execution.LocalCaller().Tenant))
	n.ID = execution.DerivedID(conversation.Partition(execution.LocalCaller().Tenant), caller, key)
	n.ConversationID, n.IdempotencyKey, n.Fingerprint = conversation, key, fingerprint
	return n
}

// elsewhere is a conversation whose partition is not that of the key.
func elsewhere(key string) execution.ConversationID {
	for i := 0; ; i++ {
		id := execution.ConversationID(fmt.Sprintf("talk-%s-%d", key, i))
		if id.Partition(execution.LocalCaller().Tenant) != execution.KeyPartition(execution.LocalCaller(), key) {
			return id
		}
	}
}

func TestAKeyFindsItsExecutionAgain(t *testing.T) {
	t.Parallel()
	for name, conversation := range map[string]execution.ConversationID{
		"when key and row share a partition": "", "when the conversation is elsewhere": elsewhere("k"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			first, err := w.store.Reserve(w.ctx(), keyed("k", "f", conversation))
			require.NoError(t, err)
			require.True(t, first.Created)
			before := dump(t, w.rdb, w.cfg.Prefix)
			second, err := w.store.Reserve(w.ctx(), keyed("k", "f", conversation))
			require.NoError(t, err)
			require.False(t, second.Created)
			require.Equal(t, first.Execution, second.Execution)
			require.Equal(t, first.Tasks, second.Tasks, "the task of a lost reply is given again")
			_, err = w.store.Reserve(w.ctx(), keyed("k", "other", conversation))
			require.ErrorIs(t, err, journal.ErrKeyReused)
			require.Equal(t, before, dump(t, w.rdb, w.cfg.Prefix))
		})
	}
}

func TestAKeyIsRefusedForAnotherConversation(t *testing.T) {
	t.Parallel()
	w := open(t)
	_, err := w.store.Reserve(w.ctx(), keyed("k", "f", ""))
	require.NoError(t, err)
	before := dump(t, w.rdb, w.cfg.Prefix)
	_, err = w.store.Reserve(w.ctx(), keyed("k", "g", elsewhere("k")))
	require.ErrorIs(t, err, journal.ErrKeyReused)
	require.Equal(t, before, dump(t, w.rdb, w.cfg.Prefix))
}

func TestFiftySubmitsWithOneKeyMakeOneExecution(t *testing.T) {
	t.Parallel()
	for name, conversation := range map[string]execution.ConversationID{"near": "", "apart": elsewhere("many")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			ctx := w.ctx()
			var group sync.WaitGroup
			created := make(chan execution.ID, 50)
			for range 50 {
				group.Go(func() {
					r, err := w.store.Reserve(ctx, keyed("many", "f", conversation))
					if err == nil && r.Created {
						created <- r.Execution.ID
					}
				})
			}
			group.Wait()
			require.Len(t, created, 1)
			open, err := w.store.OpenExecutions(ctx)
			require.NoError(t, err)
			require.EqualValues(t, 1, open)
		})
	}
}

func TestABusyConversationLeavesNoKeyBehind(t *testing.T) {
	t.Parallel()
	w := open(t)
	talk := elsewhere("k")
	busy := newExecution(talk.Partition(execution.LocalCaller().Tenant))
	busy.ConversationID = talk
	_, err := w.store.Reserve(w.ctx(), busy)
	require.NoError(t, err)
	before := dump(t, w.rdb, w.cfg.Prefix)
	_, err = w.store.Reserve(w.ctx(), keyed("k", "f", talk))
	require.ErrorIs(t, err, journal.ErrConversationBusy)
	require.Equal(t, before, dump(t, w.rdb, w.cfg.Prefix))
	_, err = w.store.Cancel(w.ctx(), busy.ID)
	require.NoError(t, err)
	again, err := w.store.Reserve(w.ctx(), keyed("k", "g", talk))
	require.NoError(t, err)
	require.True(t, again.Created)
}

func TestCaseH6_AKeyLivesExactlyAsLongAsItsRow(t *testing.T) {
	t.Parallel()
	w := open(t)
	talk := elsewhere("k")
	r, err := w.store.Reserve(w.ctx(), keyed("k", "f", talk))
	require.NoError(t, err)
	p := execution.KeyPartition(execution.LocalCaller(), "k")
	look := func() []journal.Due {
		found, err := w.store.Sweep(w.ctx(), p, 10)
		require.NoError(t, err)
		for _, due := range found {
			require.Equal(t, journal.ActKey, due.Action)
			require.NoError(t, w.store.Purge(w.ctx(), due))
		}
		return found
	}
	w.now = w.now.Add(keyLookAfter)
	require.Len(t, look(), 1)
	second, err := w.store.Reserve(w.ctx(), keyed("k", "f", talk))
	require.NoError(t, err)
	require.False(t, second.Created, "still queued: the key holds")

	_, err = w.store.Cancel(w.ctx(), r.Execution.ID)
	require.NoError(t, err)
	w.now = w.now.Add(169 * time.Hour)
	w.purgeAll()
	require.Empty(t, dump(t, w.rdb, w.cfg.Prefix), "nothing stays of a purged execution")
}

func TestAKeyWithoutARowIsDeletedByItsLook(t *testing.T) {
	t.Parallel()
	w := open(t)
	n := keyed("k", "f", elsewhere("k"))
	p := execution.KeyPartition(n.Caller, "k")
	_, err := w.store.runKeys(w.ctx(), w.store.scripts.reserveKey,
		[]string{w.store.keys.idempotency(n.Caller, "k"), w.store.keys.purge(p)},
		string(n.ID), "f", keyMember(n.Caller, "k"), keyLookAfter.Milliseconds())
	require.NoError(t, err)
	w.now = w.now.Add(keyLookAfter)
	found, err := w.store.Sweep(w.ctx(), p, 10)
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, journal.ActKey, found[0].Action)
	require.NoError(t, w.store.Purge(w.ctx(), found[0]))
	require.Empty(t, dump(t, w.rdb, w.cfg.Prefix))
}

func TestEveryMoveOfAReservationMayBeRepeated(t *testing.T) {
	t.Parallel()
	for move := range 3 { // look, key, row
		w := open(t)
		lose := &losing{skip: move}
		w.rdb.AddHook(lose)
		n := keyed("k", "f", elsewhere("k"))
		lose.armed.Store(true)
		_, err := w.store.Reserve(w.ctx(), n)
		require.ErrorIs(t, err, journal.ErrUnavailable)
		again, err := w.store.Reserve(w.ctx(), n)
		require.NoError(t, err)
		require.Equal(t, move < 2, again.Created)
		require.Len(t, again.Tasks, 1)
		open, err := w.store.OpenExecutions(w.ctx())
		require.NoError(t, err)
		require.EqualValues(t, 1, open)
	}
}

// purgeAll purges every row that is due for it.
func (w *world) purgeAll() {
	w.t.Helper()
	all, err := w.store.SweepAll(w.ctx(), 100)
	require.NoError(w.t, err)
	for _, due := range all {
		if due.Action == journal.ActPurge {
			require.NoError(w.t, w.store.Purge(w.ctx(), due))
		}
	}
}

func TestPurgeTakesTheKeyOfItsOwnPartitionAlong(t *testing.T) {
	t.Parallel()
	w := open(t)
	r, err := w.store.Reserve(w.ctx(), keyed("k", "f", ""))
	require.NoError(t, err)
	_, err = w.store.Cancel(w.ctx(), r.Execution.ID)
	require.NoError(t, err)
	w.now = w.now.Add(169 * time.Hour)
	w.purgeAll()
	require.Empty(t, dump(t, w.rdb, w.cfg.Prefix))
}

func TestReserveOnACanceledContextWritesNothing(t *testing.T) {
	t.Parallel()
	w := open(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := w.store.Reserve(ctx, newExecution(1))
	require.ErrorIs(t, err, journal.ErrUnavailable)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, dump(t, w.rdb, w.cfg.Prefix))
}
