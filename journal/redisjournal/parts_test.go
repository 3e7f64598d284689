package redisjournal

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// take submits to a conversation and says the words.
func (w *world) take(talk execution.ConversationID, busy execution.OnBusy, words string) (journal.Execution, error) {
	w.t.Helper()
	n := newExecution(talk.Partition(execution.LocalCaller().Tenant))
	n.ConversationID, n.Request.OnBusy, n.Messages = talk, busy, [][]byte{[]byte(words)}
	reserved, err := w.store.Reserve(w.ctx(), n)
	return reserved.Execution, err
}

// own is a conversation of the caller of these tests.
func own(id execution.ConversationID) talk { return talk{execution.LocalCaller().Tenant, id} }

func (w *world) history(id execution.ID) string {
	w.t.Helper()
	messages, err := w.store.Messages(w.ctx(), id, 0, 100_000)
	require.NoError(w.t, err)
	var all []string
	for _, message := range messages {
		all = append(all, string(message))
	}
	return strings.Join(all, " ")
}

// turnsAndParts goes through every way of taking a turn, in a conversation whose id has a colon.
func turnsAndParts(w *world) {
	w.t.Helper()
	const talk execution.ConversationID = "a:talk:messages"
	first, err := w.take(talk, "", "one")
	require.NoError(w.t, err)
	held := w.claim(first.ID, "n1")
	commit := next(held, journal.Then{Kind: journal.ThenContinue})
	commit.Node, commit.Batch = "tool_call", []execution.CallID{"call_0_0"}
	commit.Plan = []journal.Plan{{CallID: "call_0_0", Intent: []byte(`{"name":"look"}`)}}
	_, err = w.store.Commit(w.ctx(), commit)
	require.NoError(w.t, err)
	second, err := w.take(talk, execution.BusyInterrupt, "two")
	require.NoError(w.t, err)
	require.True(w.t, second.Active)
	require.Contains(w.t, w.history(second.ID), `"sealed":{"callId":"call_0_0","intent":{"name":"look"}}`)
	third, err := w.take(talk, execution.BusyRollback, "three")
	require.NoError(w.t, err)
	require.True(w.t, strings.HasSuffix(w.history(third.ID), "} three"), w.history(third.ID))
	require.Contains(w.t, w.history(second.ID), "two")
	fork := newExecution(talk.Partition(execution.LocalCaller().Tenant))
	fork.Fork = &journal.Fork{From: execution.Origin{ExecutionID: third.ID}, Length: 1}
	fork.Messages = [][]byte{[]byte("four")}
	reserved, err := w.store.Reserve(w.ctx(), fork)
	require.NoError(w.t, err)
	require.Equal(w.t, "one four", w.history(reserved.Execution.ID))
	claimed, err := w.store.Claim(w.ctx(), journal.ClaimRequest{
		Execution: fork.ID, Worker: "w1", Nonce: "n2", TTL: time.Minute, History: true, KnownMessages: 1,
	})
	require.NoError(w.t, err)
	require.Equal(w.t, [][]byte{[]byte("four")}, claimed.Messages)
	require.Equal(w.t, 2, claimed.HistoryLength)
}

func TestTurnsAndParts(t *testing.T) {
	t.Parallel()
	turnsAndParts(open(t))
}

func TestTurnsAndPartsOnTheEmbeddedServer(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	turnsAndParts(openOn(t, client))
}

// A history of as many parts as there may be is read like any other, and gets no more of them.
func TestAHistoryHasABoundOfParts(t *testing.T) {
	t.Parallel()
	w := open(t)
	first := w.get(w.reserve())
	talk := first.ConversationID
	_, err := w.store.Cancel(w.ctx(), first.ID)
	require.NoError(t, err)
	var base strings.Builder
	list := w.store.keys.messages(own(talk))
	for n := 1; n < journal.MaxParts; n++ {
		require.NoError(t, w.rdb.RPush(w.ctx(), list, fmt.Sprint("kept", n), "rolled back").Err())
		fmt.Fprintf(&base, "%s %d %d\n", talk, 2*n-1, 2*n)
	}
	last := w.rdb.LLen(w.ctx(), list).Val()
	require.NoError(t, w.rdb.HSet(w.ctx(), w.store.keys.conversation(own(talk)), "base", base.String(), "from", last).Err())

	next, err := w.take(talk, "", "said")
	require.NoError(t, err)
	require.Equal(t, [2]int{journal.MaxParts - 1, journal.MaxParts}, [2]int{next.HistoryStart, next.HistoryEnd})
	require.Equal(t, journal.MaxParts, len(strings.Fields(w.history(next.ID))))
	rolled, err := w.take(talk, execution.BusyRollback, "again")
	require.NoError(t, err, "nothing of the own list stays: no part is added")
	_, err = w.store.Cancel(w.ctx(), rolled.ID)
	require.NoError(t, err)
	_, err = w.take(talk, "", "kept")
	require.NoError(t, err)
	_, err = w.take(talk, execution.BusyRollback, "the last one")
	require.NoError(t, err)
	before := describeAll(w)
	_, err = w.take(talk, execution.BusyRollback, "once more")
	require.ErrorIs(t, err, journal.ErrLimit)
	require.Equal(t, before, describeAll(w))
	fork := newExecution(talk.Partition(execution.LocalCaller().Tenant))
	fork.Fork = &journal.Fork{From: execution.Origin{ExecutionID: rolled.ID}, Whole: true}
	_, err = w.store.Reserve(w.ctx(), fork)
	require.NoError(t, err, "as many as there may be")
	_, err = w.take(talk, execution.BusyInterrupt, "at least this")
	require.NoError(t, err)
}

func describeAll(w *world) map[string]string {
	w.t.Helper()
	all := map[string]string{}
	for _, key := range allKeys(w.ctx(), w.t, w.rdb, w.cfg.Prefix) {
		text, err := describe(w.ctx(), w.rdb, key)
		require.NoError(w.t, err)
		all[key] = text
	}
	return all
}
