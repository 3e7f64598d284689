package redisjournal

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// childOf is a child in the place where newExecution's executions are.
func childOf(parent execution.ID, call execution.CallID) journal.NewExecution {
	n := newExecution(parent.Partition())
	n.ID, n.ConversationID = execution.ChildID(parent, call), execution.ChildConversationID(parent, call)
	n.Parent, n.Caller = &journal.Parent{Execution: parent, Call: call}, execution.CallerScope{}
	return n
}

func (w *world) spawn(c journal.Claimed, call execution.CallID) execution.ID {
	w.t.Helper()
	answer, err := w.store.Spawn(w.ctx(), journal.Spawn{
		Hold: journal.Hold{Execution: c.Execution.ID, Fence: c.Fence}, Child: childOf(c.Execution.ID, call),
	})
	require.NoError(w.t, err)
	return answer.Execution.ID
}

func ended(answer string) journal.Then {
	return journal.Then{Kind: journal.ThenEnd, Outcome: &execution.Outcome{Answer: answer}}
}

func awaitAll(calls ...execution.CallID) journal.Then {
	then := journal.Then{Kind: journal.ThenPark, WaitKind: execution.WaitChild}
	for _, call := range calls {
		then.Await = append(then.Await, execution.ChildRequest(call))
	}
	return then
}

func TestCaseA6_AParentThatCannotBeReadKeepsNoChildFromEnding(t *testing.T) {
	t.Parallel()
	w := open(t)
	id := w.reserve()
	c := w.claim(id, "p")
	child := w.spawn(c, "call_0_0")
	held := w.claim(child, "c")
	require.NoError(t, w.rdb.Del(w.ctx(), w.store.keys.row(id)).Err())
	require.NoError(t, w.rdb.Set(w.ctx(), w.store.keys.row(id), "no row", 0).Err())
	require.Equal(t, execution.Completed, w.commit(held, ended("done")).State)
}

func TestCaseA6_AChildThatCannotBeReadKeepsNoParentFromEnding(t *testing.T) {
	t.Parallel()
	w := open(t)
	id := w.reserve()
	c := w.claim(id, "p")
	bad, good := w.spawn(c, "call_0_0"), w.spawn(c, "call_0_1")
	require.NoError(t, w.rdb.Del(w.ctx(), w.store.keys.row(bad)).Err())
	require.NoError(t, w.rdb.Set(w.ctx(), w.store.keys.row(bad), "no row", 0).Err())
	children, err := w.store.Children(w.ctx(), id)
	require.NoError(t, err)
	require.Equal(t, journal.Child{ID: bad, Call: "call_0_0"}, children[0])
	require.Equal(t, execution.Completed, w.commit(c, ended("done")).State)
	require.True(t, w.get(good).CancelRequested)
}

// An execution that has neither children nor anything to clean up stores nothing of either.
func TestAnExecutionWithoutChildrenStoresNothingOfThem(t *testing.T) {
	t.Parallel()
	w := open(t)
	id := w.reserve()
	c := w.claim(id, "n1")
	w.commit(c, journal.Then{Kind: journal.ThenContinue})
	c = w.claim(id, "n2")
	w.commit(c, journal.Then{Kind: journal.ThenPark, WaitKind: execution.WaitRemote, Wait: time.Second})
	w.now = w.now.Add(time.Second)
	c = w.claim(id, "n3")
	for _, state := range []string{"running", "ended"} {
		fields, err := w.rdb.HGetAll(w.ctx(), w.store.keys.row(id)).Result()
		require.NoError(t, err)
		for _, name := range []string{"parent", "children", "await", "cleanup"} {
			require.NotContains(t, fields, name, state)
		}
		if state == "running" {
			w.commit(c, ended("done"))
		}
	}
	for key := range dump(t, w.rdb, w.cfg.Prefix) {
		require.False(t, strings.HasSuffix(key, ":children") || strings.HasSuffix(key, ":open") || strings.HasSuffix(key, ":cleanup"), key)
	}
}

func TestDoctorKnowsChildrenAndCleanUps(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		harm func(w *world, parent, child execution.ID)
		want map[journal.FindingCode]int
		left map[journal.FindingCode]int // after the repair
	}{
		"nothing": {func(*world, execution.ID, execution.ID) {}, nil, nil},
		"an open child that its parent takes for ended": {
			func(w *world, parent, child execution.ID) {
				require.NoError(w.t, w.rdb.ZRem(w.ctx(), w.store.keys.row(parent)+":open", string(child)[tailAt:]).Err())
			},
			map[journal.FindingCode]int{journal.FindingChildLost: 1},
			nil,
		},
		"a child that its parent does not know": {
			func(w *world, parent, _ execution.ID) {
				require.NoError(w.t, w.rdb.Del(w.ctx(), w.store.keys.row(parent)+":children").Err())
			},
			map[journal.FindingCode]int{journal.FindingChildLost: 1},
			map[journal.FindingCode]int{journal.FindingChildLost: 1},
		},
		"an ended child that its parent takes for open": {
			func(w *world, parent, child execution.ID) {
				_, err := w.store.Cancel(w.ctx(), child)
				require.NoError(w.t, err)
				require.NoError(w.t, w.rdb.ZAdd(w.ctx(), w.store.keys.row(parent)+":open", z(string(child)[tailAt:])).Err())
			},
			map[journal.FindingCode]int{journal.FindingChildEnded: 1},
			nil,
		},
		"an entry of a child that is not there": {
			func(w *world, parent, _ execution.ID) {
				require.NoError(w.t, w.rdb.ZAdd(w.ctx(), w.store.keys.row(parent)+":open", z(string(execution.NewID(7))[tailAt:])).Err())
			},
			map[journal.FindingCode]int{journal.FindingEntryWithoutRow: 1},
			nil,
		},
		"an open child of a parent that ended": {
			func(w *world, parent, child execution.ID) {
				require.NoError(w.t, w.rdb.ZRem(w.ctx(), w.store.keys.row(parent)+":open", string(child)[tailAt:]).Err())
				_, err := w.store.Cancel(w.ctx(), parent)
				require.NoError(w.t, err)
				require.NoError(w.t, w.rdb.ZAdd(w.ctx(), w.store.keys.row(parent)+":open", z(string(child)[tailAt:])).Err())
			},
			map[journal.FindingCode]int{journal.FindingChildLeft: 1},
			map[journal.FindingCode]int{journal.FindingChildLeft: 1},
		},
		"case A3: all that it waits for is there, and nobody calls it": {
			func(w *world, parent, _ execution.ID) {
				inbox := w.store.keys.row(parent) + ":inbox"
				require.NoError(w.t, w.rdb.HSet(w.ctx(), inbox, string(execution.ChildRequest("call_0_0")), "{}").Err())
			},
			map[journal.FindingCode]int{journal.FindingStandstill: 1},
			map[journal.FindingCode]int{journal.FindingStandstill: 1},
		},
		"a clean-up that nobody would do": {
			func(w *world, parent, _ execution.ID) {
				require.NoError(w.t, w.rdb.HSet(w.ctx(), w.store.keys.row(parent), "cleanup", "task").Err())
				require.NoError(w.t, w.rdb.ZAdd(w.ctx(), w.store.keys.outside(7), z(string(parent))).Err())
				_, err := w.store.Cancel(w.ctx(), parent)
				require.NoError(w.t, err)
				require.NoError(w.t, w.rdb.Del(w.ctx(), w.store.keys.cleanup(7)).Err())
			},
			map[journal.FindingCode]int{journal.FindingNotCleaned: 1},
			nil,
		},
		"a clean-up of nothing": {
			func(w *world, parent, _ execution.ID) {
				require.NoError(w.t, w.rdb.ZAdd(w.ctx(), w.store.keys.cleanup(7), z(string(parent))).Err())
				require.NoError(w.t, w.rdb.ZAdd(w.ctx(), w.store.keys.outside(7), z(string(parent))).Err())
			},
			map[journal.FindingCode]int{journal.FindingNothingToClean: 2},
			nil,
		},
		"something open outside that is not counted": {
			func(w *world, parent, _ execution.ID) {
				require.NoError(w.t, w.rdb.HSet(w.ctx(), w.store.keys.row(parent), "cleanup", "task").Err())
			},
			map[journal.FindingCode]int{journal.FindingNotListed: 1},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			parent := w.reserve()
			c := w.claim(parent, "p")
			child := w.spawn(c, "call_0_0")
			w.commit(c, awaitAll("call_0_0"))
			test.harm(w, parent, child)
			for n, want := range []map[journal.FindingCode]int{test.want, test.want, test.left} {
				found, _ := audited(t, w.store, n == 1)
				counts := map[journal.FindingCode]int{}
				for code, findings := range found {
					counts[code] = len(findings)
				}
				if want == nil {
					want = map[journal.FindingCode]int{}
				}
				require.Equal(t, want, counts, "look %d: %v", n, found)
			}
		})
	}
}

// A tree's cost: 256 children end, their parent is woken once, and no key of theirs is left when all are deleted.
func TestATreeLeavesNothing(t *testing.T) {
	t.Parallel()
	w := open(t)
	id := w.reserve()
	c := w.claim(id, "p")
	var calls []execution.CallID
	for n := range 40 {
		call := execution.NewCallID(0, n)
		calls = append(calls, call)
		child := w.claim(w.spawn(c, call), fmt.Sprint("c", n))
		grandchild := w.claim(w.spawn(child, "call_0_0"), fmt.Sprint("g", n))
		w.commit(grandchild, ended("g"))
		if n%2 == 0 {
			w.commit(child, ended("c"))
		} else {
			w.commit(child, awaitAll("call_0_0"))
		}
	}
	w.commit(c, awaitAll(calls...))
	c = w.claimParked(id, calls)
	require.Len(t, c.Inbox, len(calls))
	w.commit(c, ended("done"))
	for _, call := range calls {
		child := execution.ChildID(id, call)
		require.NoError(t, w.store.Delete(w.ctx(), execution.ChildID(child, "call_0_0")))
		require.NoError(t, w.store.Delete(w.ctx(), child))
	}
	require.NoError(t, w.store.Delete(w.ctx(), id))
	require.Empty(t, dump(t, w.rdb, w.cfg.Prefix))
}

// claimParked ends the children that went on, and claims the parent that they woke.
func (w *world) claimParked(id execution.ID, calls []execution.CallID) journal.Claimed {
	w.t.Helper()
	woken := 0
	for n, call := range calls {
		if n%2 == 1 {
			woken += len(w.commit(w.claim(execution.ChildID(id, call), rand.Text()), ended("c")).Tasks)
		}
	}
	require.Equal(w.t, 1, woken, "the parent is woken once")
	return w.claim(id, "again")
}

// z is an entry of an index.
func z(member string) redis.Z { return redis.Z{Score: 1, Member: member} }
