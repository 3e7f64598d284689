package journaltest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func pushClauses() []clause {
	return []clause{
		{name: "a config is kept under its name, with its mark", run: pushKept},
		{name: "the same config again changes nothing", run: pushRepeated},
		{name: "there are only so many configs, and none of an execution that is not there", run: pushRefused},
		{name: "an execution with a config is due at once, and taken by one at a time", run: pushTaken},
		{name: "a lease ends by itself, is prolonged, and is given back", run: pushLeased},
		{name: "an execution of which all is told leaves the index", run: pushDropped},
		{name: "the last config takes the execution out of the index", run: pushDeleted},
		{name: "configs go with their execution", run: pushGone},
	}
}

const aWhile = 10 * time.Second

func (a *actor) push(name, config, mark string) {
	a.b.t.Helper()
	require.NoError(a.b.t, a.b.Store.PutPushConfig(a.b.ctx(), a.id, name, []byte(config), mark))
}

func (b *bench) takes() []execution.ID {
	b.t.Helper()
	taken, err := b.Store.TakePushes(b.ctx(), 100, aWhile)
	require.NoError(b.t, err)
	slices.Sort(taken)
	return taken
}

func pushKept(t *testing.T, b *bench) {
	a, other := b.reserve(), b.reserve()
	a.push("one", "first", "")
	a.push("two", "second", "submitted")
	a.push("one", "third\x00\xff", "working")
	require.NoError(t, b.Store.MarkPushed(b.ctx(), a.id, "two", "completed"))
	require.NoError(t, b.Store.MarkPushed(b.ctx(), a.id, "nobody", "completed"))
	configs, marks, err := b.Store.PushConfigs(b.ctx(), a.id)
	require.NoError(t, err)
	require.Equal(t, map[string][]byte{"one": []byte("third\x00\xff"), "two": []byte("second")}, configs)
	require.Equal(t, map[string]string{"one": "working", "two": "completed"}, marks)
	configs, marks, err = b.Store.PushConfigs(b.ctx(), other.id)
	require.NoError(t, err)
	require.Empty(t, configs)
	require.Empty(t, marks)
}

func pushRepeated(_ *testing.T, b *bench) {
	a := b.reserve()
	a.push("one", "first", "submitted")
	b.clock.Advance(time.Second)
	b.unchanged(func() { a.push("one", "first", "submitted") })
	b.unchanged(func() { a.push("one", "first", "working") }) // what was told since is known better here
}

func pushRefused(t *testing.T, b *bench) {
	a := b.reserve()
	for n := range journal.MaxPushConfigs {
		a.push(fmt.Sprint("config ", n), "c", "")
	}
	a.push("config 3", "another", "")
	put := func(id execution.ID, name string, config []byte, mark string) error {
		return b.Store.PutPushConfig(b.ctx(), id, name, config, mark)
	}
	nobody := testID(thePartition, 12345)
	b.unchanged(func() {
		require.ErrorIs(t, put(a.id, "one more", []byte("c"), ""), journal.ErrLimit)
		require.ErrorIs(t, put(nobody, "one", []byte("c"), ""), journal.ErrNotFound)
		require.ErrorIs(t, put("exec_x", "one", []byte("c"), ""), journal.ErrNotFound)
		require.ErrorIs(t, put(a.id, "", []byte("c"), ""), journal.ErrConflict)
		require.ErrorIs(t, put(a.id, "one", nil, ""), journal.ErrConflict)
		require.ErrorIs(t, put(a.id, "one", make([]byte, journal.MaxPushConfigSize+1), ""), journal.ErrConflict)
		require.ErrorIs(t, b.Store.DeletePushConfig(b.ctx(), nobody, "one"), journal.ErrNotFound)
		require.ErrorIs(t, b.Store.MarkPushed(b.ctx(), nobody, "one", "m"), journal.ErrNotFound)
		_, _, err := b.Store.PushConfigs(b.ctx(), nobody)
		require.ErrorIs(t, err, journal.ErrNotFound)
	})
}

func pushTaken(t *testing.T, b *bench) {
	require.Empty(t, b.takes())
	one, two, without := b.reserve(), b.reserve(), b.reserve()
	one.push("one", "first", "")
	two.push("one", "first", "")
	want := []execution.ID{one.id, two.id}
	slices.Sort(want)
	require.NotContains(t, want, without.id)
	first, err := b.Store.TakePushes(b.ctx(), 1, aWhile)
	require.NoError(t, err)
	require.Len(t, first, 1, "no more than the limit of a partition")
	require.ElementsMatch(t, want, append(b.takes(), first...))
	require.Empty(t, b.takes(), "somebody looks after them")
	one.push("two", "second", "")
	require.Empty(t, b.takes(), "and goes on with that")
}

func pushLeased(t *testing.T, b *bench) {
	a := b.reserve()
	a.push("one", "first", "")
	require.Len(t, b.takes(), 1)
	b.clock.Advance(aWhile - time.Millisecond)
	require.Empty(t, b.takes())
	require.NoError(t, b.Store.KeepPushes(b.ctx(), []execution.ID{a.id, testID(9, 12345)}, aWhile))
	b.clock.Advance(aWhile - time.Millisecond)
	require.Empty(t, b.takes())
	b.clock.Advance(time.Millisecond)
	require.Len(t, b.takes(), 1, "whoever had it has died")
	require.NoError(t, b.Store.KeepPushes(b.ctx(), []execution.ID{a.id}, 0))
	require.Len(t, b.takes(), 1, "whoever had it has let go of it")
	require.NoError(t, b.Store.KeepPushes(b.ctx(), nil, aWhile))
}

func pushDropped(t *testing.T, b *bench) {
	a := b.reserve()
	a.push("one", "first", "submitted")
	a.push("two", "second", "submitted")
	drop := func() bool {
		dropped, err := b.Store.DropPushes(b.ctx(), a.id, "completed")
		require.NoError(t, err)
		return dropped
	}
	require.NoError(t, b.Store.MarkPushed(b.ctx(), a.id, "one", "completed"))
	b.unchanged(func() { require.False(t, drop(), "the other one does not know") })
	require.NoError(t, b.Store.MarkPushed(b.ctx(), a.id, "two", "completed"))
	require.True(t, drop())
	require.Empty(t, b.takes())
	b.unchanged(func() { require.True(t, drop()) })
	b.unchanged(func() { require.NoError(t, b.Store.KeepPushes(b.ctx(), []execution.ID{a.id}, aWhile)) })
	configs, _, err := b.Store.PushConfigs(b.ctx(), a.id)
	require.NoError(t, err)
	require.Len(t, configs, 2, "they stay")
	a.push("three", "third", "submitted")
	require.Len(t, b.takes(), 1, "there is something to tell again")
}

func pushDeleted(t *testing.T, b *bench) {
	a := b.reserve()
	a.push("one", "first", "")
	a.push("two", "second", "")
	remove := func(name string) { require.NoError(t, b.Store.DeletePushConfig(b.ctx(), a.id, name)) }
	b.unchanged(func() { remove("nobody") })
	remove("one")
	b.unchanged(func() { remove("one") })
	require.Len(t, b.takes(), 1)
	remove("two")
	b.clock.Advance(2 * aWhile)
	require.Empty(t, b.takes())
}

func pushGone(t *testing.T, b *bench) {
	empty := b.Dump()
	deleted := b.arrange(execution.Completed)
	deleted.push("one", "first", "")
	deleted.delete()
	require.Equal(t, empty, b.Dump())
	purged := b.arrange(execution.Failed)
	purged.push("one", "first", "")
	require.NoError(t, b.Store.Purge(b.ctx(), purged.due()))
	require.Equal(t, empty, b.Dump())
	require.Empty(t, b.takes())
	dropped, err := b.Store.DropPushes(b.ctx(), purged.id, "completed")
	require.NoError(t, err)
	require.True(t, dropped)
}
