package journaltest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func forkClauses() []clause {
	return []clause{
		{name: "a fork begins with the history of what it comes from, and adds to its own", run: forkHistory},
		{name: "a fork begins in the middle of a history, and only what it names is counted", run: forkLength},
		{name: "a fork may have nothing to say, and start at any boundary", run: forkSilent},
		{name: "a fork of a fork sees through both", run: forkOfFork},
		{name: "a fork of what was rolled back has that history", run: forkRolledBack},
		{name: "a fork in a conversation that is forked and rolled back", run: forkThenRollback},
		{name: "a history lives as long as something is based on it", run: forkOutlives},
		{name: "a conversation counts those that are based on it once each", run: forkCounted},
		{name: "a conversation that only others need begins anew", run: forkReused},
		{name: "what a conversation begins anew with outlives its forks, and is forked", run: forkReusedTwice},
		{name: "case G2: a fork keeps the large results of what it comes from", run: forkBlobs},
		{name: "what cannot be forked is refused, and nothing is stored", run: forkRefused},
		{name: "open tool calls of a fork that adds nothing are answered", run: forkSealed},
	}
}

// fork submits a fork of a that says the words.
func (a *actor) fork(fork journal.Fork, words ...string) *actor {
	a.b.t.Helper()
	return a.b.reserve(func(n *journal.NewExecution) {
		at(a.id.Partition())(n)
		fork.From.ExecutionID = a.id
		n.Caller = a.caller
		n.Fork, n.Messages = &fork, nil
		for _, word := range words {
			n.Messages = append(n.Messages, []byte(word))
		}
	})
}

// ends completes the execution with an answer.
func (a *actor) ends(answer string) *actor {
	a.b.t.Helper()
	a.claim().commit(completeWith(answer), func(q *journal.Commit) { q.Messages = [][]byte{[]byte(answer)} })
	return a
}

func forkHistory(t *testing.T, b *bench) {
	a := b.reserve().ends("answer")
	second := a.take(execution.BusyReject, "second").claim().says("thinking")
	fork := second.fork(journal.Fork{From: execution.Origin{Step: 1}, Whole: true}, "instead")
	row := fork.row()
	require.Equal(t, &execution.Origin{ExecutionID: second.id, Step: 1}, row.ForkedFrom)
	require.NotEqual(t, second.conv, row.ConversationID)
	require.True(t, row.Active)
	fork.hears("hello", "answer", "second", "thinking", "instead")
	require.Equal(t, [2]int{4, 5}, [2]int{fork.row().HistoryStart, fork.row().HistoryEnd})
	second.claim().says("more")
	fork.claim().says("another way")
	second.hears("hello", "answer", "second", "thinking", "more")
	fork.hears("hello", "answer", "second", "thinking", "instead", "another way")
	fork.ends("done")
	later := fork.take(execution.BusyReject, "later")
	later.hears("hello", "answer", "second", "thinking", "instead", "another way", "done", "later")
	require.Nil(t, later.row().ForkedFrom)
	require.Equal(t, [2]int{7, 8}, [2]int{later.row().HistoryStart, later.row().HistoryEnd})
}

func forkLength(t *testing.T, b *bench) {
	a := b.reserve().ends("answer")
	second := a.take(execution.BusyReject, "second").claim().says("thinking").ends("done")
	a.take(execution.BusyReject, "third")
	for length := range 6 {
		var want []string
		want = append(want, []string{"hello", "answer", "second", "thinking", "done"}[:length]...)
		second.fork(journal.Fork{Length: length}, "instead").hears(append(want, "instead")...)
	}
	second.fork(journal.Fork{Length: 1, Own: true}, "instead").hears("hello", "answer", "second", "instead")
	second.fork(journal.Fork{Whole: true}, "instead").hears("hello", "answer", "second", "thinking", "done", "instead")
	a.fork(journal.Fork{Whole: true}, "instead").hears("hello", "answer", "instead")
}

func forkSilent(t *testing.T, b *bench) {
	a := b.reserve().claim().says("thinking")
	fork := a.fork(journal.Fork{Length: 1, ReadsHistory: true})
	require.Equal(t, [2]int{1, 1}, [2]int{fork.row().HistoryStart, fork.row().HistoryEnd})
	fork.claim()
	require.Equal(t, [][]byte{[]byte("hello")}, fork.claimed.Messages, "asked for by the boundary")
	fork.release()
	fork.hears("hello")
	fork.claim().says("answer")
	fork.hears("hello", "answer")
	require.Equal(t, [2]int{1, 2}, [2]int{fork.row().HistoryStart, fork.row().HistoryEnd})

	empty := a.fork(journal.Fork{})
	empty.hears()
	empty.claim().says("answer")
	empty.hears("answer")
}

func forkOfFork(t *testing.T, b *bench) {
	a := b.reserve().ends("answer")
	first := a.fork(journal.Fork{Length: 1}, "one").ends("answer 1")
	second := first.fork(journal.Fork{Length: 2}, "two").ends("answer 2")
	third := second.fork(journal.Fork{Whole: true}, "three")
	third.hears("hello", "one", "two", "answer 2", "three")
	second.fork(journal.Fork{Length: 1}, "short").hears("hello", "short")
}

func forkRolledBack(t *testing.T, b *bench) {
	a := b.reserve().ends("answer")
	second := a.take(execution.BusyReject, "second").claim().says("thinking")
	third := second.take(execution.BusyRollback, "third")
	second.fork(journal.Fork{Whole: true}, "instead").hears("hello", "answer", "second", "thinking", "instead")
	second.fork(journal.Fork{Length: 1, Own: true}, "instead").hears("hello", "answer", "second", "instead")
	third.fork(journal.Fork{Whole: true}, "instead").hears("hello", "answer", "third", "instead")
	a.fork(journal.Fork{Whole: true}, "instead").hears("hello", "answer", "instead")
}

func forkThenRollback(t *testing.T, b *bench) {
	a := b.reserve().ends("answer")
	fork := a.fork(journal.Fork{Whole: true}, "one").claim().says("thinking")
	second := fork.take(execution.BusyRollback, "two").ends("answer 2")
	second.hears("hello", "answer", "two", "answer 2")
	third := second.take(execution.BusyReject, "three")
	fourth := third.take(execution.BusyRollback, "four")
	fourth.hears("hello", "answer", "two", "answer 2", "four")
	fork.hears("hello", "answer", "one", "thinking")
	fourth.fork(journal.Fork{Whole: true}, "five").hears("hello", "answer", "two", "answer 2", "four", "five")

	silent := a.fork(journal.Fork{Whole: true})
	silent.take(execution.BusyRollback, "again").hears("hello", "answer", "again")
}

func forkOutlives(t *testing.T, b *bench) {
	empty := b.Dump()
	a := b.reserve().ends("answer")
	first := a.fork(journal.Fork{Length: 1}, "one").ends("answer 1")
	second := first.fork(journal.Fork{Whole: true}, "two").ends("answer 2")
	a.delete()
	first.hears("hello", "one", "answer 1")
	first.delete()
	second.hears("hello", "one", "answer 1", "two", "answer 2")
	third := second.fork(journal.Fork{Length: 1}, "three").ends("answer 3")
	second.delete()
	third.hears("hello", "three", "answer 3")
	third.delete()
	require.Equal(t, empty, b.Dump(), "nothing stays")
}

func forkCounted(t *testing.T, b *bench) {
	empty := b.Dump()
	a := b.reserve().ends("answer")
	second := a.take(execution.BusyReject, "second")
	third := second.take(execution.BusyRollback, "third").ends("answer 3")
	one := third.fork(journal.Fork{Whole: true}, "one").ends("answer 4")
	two := third.fork(journal.Fork{Whole: true}, "two").ends("answer 5")
	for _, gone := range []*actor{a, second, third, one} {
		gone.delete()
	}
	two.hears("hello", "answer", "third", "answer 3", "two", "answer 5")
	two.delete()
	require.Equal(t, empty, b.Dump(), "nothing stays")
}

// forkReused: who deletes all executions of a conversation has deleted its history, whoever is based on it.
func forkReused(t *testing.T, b *bench) {
	empty := b.Dump()
	a := b.reserve().ends("answer")
	second := a.take(execution.BusyReject, "second")
	third := second.take(execution.BusyRollback, "third").ends("answer 3")
	fork := third.fork(journal.Fork{Whole: true}, "one").ends("answer 1")
	for _, gone := range []*actor{third, a, second} {
		gone.delete()
	}
	fork.hears("hello", "answer", "third", "answer 3", "one", "answer 1")
	again := a.take(execution.BusyReject, "again")
	again.hears("again")
	require.Equal(t, [2]int{0, 1}, [2]int{again.row().HistoryStart, again.row().HistoryEnd})
	again.claim(func(q *journal.ClaimRequest) { q.History = true })
	require.Equal(t, [][]byte{[]byte("again")}, again.claimed.Messages, "what its model sees")
	again.commit(completeWith("done"), func(q *journal.Commit) { q.Messages = [][]byte{[]byte("done")} })
	again.take(execution.BusyReject, "more").hears("again", "done", "more")
	fork.hears("hello", "answer", "third", "answer 3", "one", "answer 1")
	fork.delete()
	again.hears("again", "done", "more")
	for _, row := range b.walk(journal.Listing{ConversationID: a.conv}) {
		if row != again.id {
			_, err := b.Store.Cancel(b.ctx(), row)
			require.NoError(t, err)
		}
		require.NoError(t, b.Store.Delete(b.ctx(), row))
	}
	require.Equal(t, empty, b.Dump(), "nothing stays")
}

func forkReusedTwice(t *testing.T, b *bench) {
	empty := b.Dump()
	a := b.reserve(chosen("acme", "talk")).ends("answer")
	one := a.fork(journal.Fork{Whole: true}, "one").ends("answer 1")
	a.delete()
	again := b.reserve(chosen("acme", "talk")).ends("done")
	again.hears("hello", "done")
	two := again.fork(journal.Fork{Whole: true}, "two").ends("answer 2")
	two.hears("hello", "done", "two", "answer 2")
	again.delete()
	third := b.reserve(chosen("acme", "talk"))
	third.hears("hello")
	third.take(execution.BusyRollback, "third").hears("third")
	one.hears("hello", "answer", "one", "answer 1")
	one.delete()
	two.hears("hello", "done", "two", "answer 2")
	two.delete()
	for _, row := range b.walk(journal.Listing{Caller: onCall(), ConversationID: "talk"}) {
		_, err := b.Store.Cancel(b.ctx(), row)
		require.NoError(t, err)
		require.NoError(t, b.Store.Delete(b.ctx(), row))
	}
	require.Equal(t, empty, b.Dump(), "nothing stays")
}

func forkBlobs(t *testing.T, b *bench) {
	empty := b.Dump()
	content := []byte("a large value")
	a := b.planned()
	record := receiptOf(a.next())
	record.Blobs = []journal.Blob{blobOf(content)}
	_, err := b.Store.Record(b.ctx(), record)
	require.NoError(t, err)
	a.ends0()
	first := a.fork(journal.Fork{Whole: true}, "one").ends("answer")
	second := first.fork(journal.Fork{Whole: true}, "two").ends("answer")
	for _, gone := range []*actor{a, first} {
		gone.delete()
		got, err := second.blob(content)
		require.NoError(t, err)
		require.Equal(t, content, got)
	}
	_, err = second.blob([]byte("another"))
	require.ErrorIs(t, err, journal.ErrNotFound)
	second.delete()
	require.Equal(t, empty, b.Dump(), "nothing stays")
}

// ends0 completes the execution under the claim that it is held by.
func (a *actor) ends0() { a.commit(completeWith("done")) }

func forkRefused(t *testing.T, b *bench) {
	a := b.reserve().claim()
	waits := a.follow()
	for _, c := range []struct {
		fork journal.Fork
		err  error
		with func(n *journal.NewExecution)
	}{
		{fork: journal.Fork{From: execution.Origin{ExecutionID: testID(thePartition, 999)}}, err: journal.ErrNotFound},
		{
			fork: journal.Fork{From: execution.Origin{ExecutionID: a.id}}, err: journal.ErrNotFound,
			with: func(n *journal.NewExecution) { n.Caller.Tenant = "another" },
		},
		{fork: journal.Fork{From: execution.Origin{ExecutionID: a.id}, Length: 2}, err: journal.ErrConflict},
		{fork: journal.Fork{From: execution.Origin{ExecutionID: a.id}, Length: 2, Own: true}, err: journal.ErrConflict},
		{fork: journal.Fork{From: execution.Origin{ExecutionID: waits.id}, Whole: true}, err: journal.ErrConflict},
		{
			fork: journal.Fork{From: execution.Origin{ExecutionID: a.id}}, err: journal.ErrConflict,
			with: func(n *journal.NewExecution) { n.ConversationID = a.conv },
		},
		{
			fork: journal.Fork{From: execution.Origin{ExecutionID: a.id}}, err: journal.ErrConflict,
			with: func(n *journal.NewExecution) { n.ConversationID = testConversation(thePartition+1, 5) },
		},
	} {
		b.unchanged(func() {
			n := b.submission(func(n *journal.NewExecution) { n.Fork = &c.fork })
			if c.with != nil {
				c.with(&n)
			}
			_, err := b.Store.Reserve(b.ctx(), n)
			require.ErrorIs(t, err, c.err, fmt.Sprintf("%+v", c.fork))
		})
	}
	waits.cancel()
	b.unchanged(func() {
		_, err := b.Store.Reserve(b.ctx(), b.submission(func(n *journal.NewExecution) {
			n.Fork = &journal.Fork{From: execution.Origin{ExecutionID: waits.id}, Whole: true}
		}))
		require.ErrorIs(t, err, journal.ErrConflict, "it never had a history")
	})
}

func forkSealed(t *testing.T, b *bench) {
	a := b.asking("model_response")
	fork := b.reserve(func(n *journal.NewExecution) {
		n.Fork, n.Messages, n.Node = &journal.Fork{From: execution.Origin{ExecutionID: a.id}, Length: 2}, nil, "model_response"
	}).claim()
	fork.commit(goOn(), func(q *journal.Commit) {
		q.Node, q.Batch = "tool_call", []execution.CallID{"call_0_0"}
		q.Plan = []journal.Plan{{CallID: "call_0_0", Intent: []byte(anIntent)}}
	})
	fork.cancel()
	require.Equal(t, []string{fork.answered("call_0_0", asIntent)}, fork.answers(2))
	require.Equal(t, 3, fork.row().HistoryEnd)
	messages, err := b.Store.Messages(b.ctx(), a.id, 0, 10)
	require.NoError(t, err)
	require.Len(t, messages, 2)
}
