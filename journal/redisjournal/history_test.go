package redisjournal

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func TestEachExecutionKnowsItsRangeOfTheHistory(t *testing.T) {
	t.Parallel()
	w := open(t)
	first := w.reserve()
	behind := newExecution(7)
	behind.ConversationID, behind.Request.OnBusy = w.get(first).ConversationID, execution.BusyEnqueue
	behind.Messages = [][]byte{[]byte("b1"), []byte("b2")}
	_, err := w.store.Reserve(w.ctx(), behind)
	require.NoError(t, err)
	c := w.claim(first, "n1")
	_, err = w.store.Cancel(w.ctx(), first)
	require.NoError(t, err)
	commit := next(c, journal.Then{Kind: journal.ThenContinue})
	commit.Messages = [][]byte{[]byte("a2"), []byte("a3")}
	answer, err := w.store.Commit(w.ctx(), commit)
	require.NoError(t, err)
	require.Equal(t, execution.Canceled, answer.State)
	require.Equal(t, []execution.Task{{Execution: behind.ID, Wake: 1, Queue: "default-new"}}, answer.Tasks)

	messages, err := w.store.Messages(w.ctx(), behind.ID, 0, 10)
	require.NoError(t, err)
	require.Equal(t, [][]byte{[]byte(`{"role":"user"}`), []byte("a2"), []byte("a3"), []byte("b1"), []byte("b2")}, messages)
	for id, want := range map[execution.ID][]any{first: {"0", "3"}, behind.ID: {"3", "5"}} {
		got, err := w.rdb.HMGet(w.ctx(), w.store.keys.row(id), "historyStart", "historyEnd").Result()
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestNoConversationIdReachesAnotherConversationsKeys(t *testing.T) {
	t.Parallel()
	w := open(t)
	k := keyspace{prefix: w.cfg.Prefix}
	for _, c := range []talk{
		{"t", "talk:messages"},
		{"t", "talk:waiting"},
		{"t", "a:b:c"},
		{"t", ":"},
		{"a:b", "c"},
		{"t:messages", "talk"},
		{"{p00} %3a/\n", "talk"},
		{"ünï", "talk"},
	} {
		p := c.id.Partition(c.tenant)
		require.Zero(t, strings.Count(strings.TrimPrefix(k.conversation(c), k.partition(p)+"conv:"), ":"))
		n := newExecution(p)
		n.ConversationID, n.Caller.Tenant = c.id, c.tenant
		_, err := w.store.Reserve(w.ctx(), n)
		require.NoError(t, err)
		w.commit(w.claim(n.ID, "n1"), journal.Then{Kind: journal.ThenContinue})
		messages, err := w.store.Messages(w.ctx(), n.ID, 0, 10)
		require.NoError(t, err)
		require.Len(t, messages, 1)
		require.EqualValues(t, 1, w.rdb.Exists(w.ctx(), k.messages(c)).Val(), "Go and Lua write the key alike")
	}
}

func TestPayloadsSurviveByteForByte(t *testing.T) {
	t.Parallel()
	w := open(t)
	id := w.reserve()
	payloads := [][]byte{
		{}, {0}, {0xff, 0xfe}, []byte(`{"a":[]}`), []byte("9007199254740993"), make([]byte, 1<<20), []byte("\r\n\t%@"),
	}
	for i, payload := range payloads {
		c := w.claim(id, "n"+string(rune('a'+i)))
		commit := next(c, journal.Then{Kind: journal.ThenContinue})
		commit.Checkpoint, commit.Messages = payload, [][]byte{payload}
		commit.Plan = []journal.Plan{{CallID: "call_0_0", Intent: payload}}
		commit.Batch, commit.ReadsHistory = []execution.CallID{"call_0_0"}, true
		_, err := w.store.Commit(w.ctx(), commit)
		require.NoError(t, err)
		again := w.claim(id, "r"+string(rune('a'+i)))
		require.Equal(t, payload, again.Checkpoint)
		require.Equal(t, payload, again.Ledger[0].Intent)
		require.Equal(t, payload, again.Messages[len(again.Messages)-1])
		_, err = w.store.Release(w.ctx(), journal.Release{
			Hold: journal.Hold{Execution: id, Fence: again.Fence, Operation: 1},
		})
		require.NoError(t, err)
	}
}
