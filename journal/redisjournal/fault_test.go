package redisjournal

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal"
)

// errReplyLost is what a client sees of a connection that broke after its command was sent.
var errReplyLost = errors.New("reply lost: " + io.ErrUnexpectedEOF.Error())

// losing is a go-redis hook: once armed, a write is carried out by the server and its reply is lost: the next one, or the
// one after skip others, or, with last, that which completes the call.
type losing struct {
	armed atomic.Bool
	skip  int
	last  func(redis.Cmder) bool
}

func (l *losing) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (l *losing) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		err := next(ctx, command)
		writes := strings.HasPrefix(command.Name(), "eval") || command.Name() == "set" || command.Name() == "setnx"
		if redis.HasErrorPrefix(err, "NOSCRIPT") || !writes || !l.armed.Load() || l.last != nil && !l.last(command) {
			return err
		}
		if l.skip > 0 {
			l.skip--
			return err
		}
		l.armed.Store(false)
		command.SetErr(errReplyLost)
		return errReplyLost
	}
}

func (l *losing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error { return next(ctx, commands) }
}

// flushing is a go-redis hook that makes Redis forget all scripts before every command.
type flushing struct{ other *redis.Client }

func (f *flushing) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (f *flushing) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		if command.Name() == "evalsha" {
			if err := f.other.ScriptFlush(ctx).Err(); err != nil {
				return err
			}
		}
		return next(ctx, command)
	}
}

func (f *flushing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		if err := f.other.ScriptFlush(ctx).Err(); err != nil {
			return err
		}
		return next(ctx, commands)
	}
}

// walk takes an execution through most of the store's scripts.
func walk(w *world) execution.ID {
	w.t.Helper()
	id := w.reserve()
	c := w.claim(id, "n1")
	hold := journal.Hold{Execution: id, Fence: c.Fence, Operation: 1}
	_, err := w.store.Renew(w.ctx(), hold, time.Minute)
	require.NoError(w.t, err)
	commit := next(c, journal.Then{Kind: journal.ThenContinue})
	commit.Plan = []journal.Plan{{CallID: "call_0_0", Intent: []byte("intent")}}
	commit.Batch = []execution.CallID{"call_0_0"}
	_, err = w.store.Commit(w.ctx(), commit)
	require.NoError(w.t, err)
	c = w.claim(id, "n2")
	_, err = w.store.Record(w.ctx(), journal.Record{
		Hold: journal.Hold{Execution: id, Fence: c.Fence}, State: journal.Done, Calls: commit.Batch,
		Receipts: [][]byte{[]byte("receipt")},
		Events:   []execution.Payload{execution.ToolCompleted{CallID: "call_0_0", Name: "lookup"}},
	})
	require.NoError(w.t, err)
	w.commit(c, journal.Then{Kind: journal.ThenPark, Interaction: &execution.Interaction{
		RequestID: "r1", Kind: execution.Elicitation, Prompt: "?",
	}})
	_, err = w.store.CommitInteractionInput(w.ctx(), id, journal.InteractionInput{
		OperationID: "op", RequestID: "r1", Response: "yes",
	})
	require.NoError(w.t, err)
	_, err = w.store.SweepAll(w.ctx(), 10)
	require.NoError(w.t, err)
	c = w.claim(id, "n3")
	require.Equal(w.t, []journal.InboxEntry{{RequestID: "r1", Payload: []byte("yes")}}, c.Inbox)
	end := next(c, journal.Then{Kind: journal.ThenEnd, Outcome: &execution.Outcome{Answer: "done"}})
	end.Consumed = []execution.RequestID{"r1"}
	_, err = w.store.Commit(w.ctx(), end)
	require.NoError(w.t, err)
	require.Equal(w.t, execution.Completed, w.get(id).State)
	return id
}

func TestScriptFlushBetweenAnyTwoCallsIsHarmless(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	w := openOn(t, server.Client(t))
	w.rdb.AddHook(&flushing{other: server.Client(t)})
	walk(w)
	rows, err := w.store.Recoverable(w.ctx(), 10)
	require.NoError(t, err)
	require.Empty(t, rows)
}

func TestARestartWithAppendOnlyFileLosesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	w := openOn(t, server.Client(t))
	id := w.reserve()
	c := w.claim(id, "n1")
	w.commit(c, journal.Then{Kind: journal.ThenContinue})
	running := w.claim(id, "n2")
	before := dump(t, w.rdb, w.cfg.Prefix)
	server.Kill()
	server.Restart(t)
	require.Equal(t, before, dump(t, w.rdb, w.cfg.Prefix))
	answer := w.commit(running, journal.Then{Kind: journal.ThenContinue})
	require.EqualValues(t, 2, answer.Step)
	require.Equal(t, journal.Fence("3-n3"), w.claim(id, "n3").Fence, "the fence goes on where it was")
}

func TestARedisThatIsAwayIsUnavailable(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1, DialTimeout: time.Second})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	w := openOn(t, client)
	id := w.reserve()
	server.Kill()
	_, err := w.store.Get(w.ctx(), id)
	require.ErrorIs(t, err, journal.ErrUnavailable)
	require.NotErrorIs(t, err, journal.ErrNotFound)
	require.ErrorContains(t, err, string(id))
	_, err = w.store.SweepAll(w.ctx(), 10)
	require.ErrorIs(t, err, journal.ErrUnavailable)
	_, err = w.store.OpenExecutions(w.ctx())
	require.ErrorIs(t, err, journal.ErrUnavailable)
}

// fill takes the server over its memory limit.
func fill(t *testing.T, rdb *redis.Client) {
	t.Helper()
	ctx := context.Background()
	require.NoError(t, rdb.ConfigSet(ctx, "maxmemory", "8mb").Err())
	chunk := strings.Repeat("x", 100_000)
	for i := range 1000 {
		err := rdb.Append(ctx, "ballast", chunk).Err()
		if redis.HasErrorPrefix(err, "OOM") {
			return
		}
		require.NoError(t, err, i)
	}
	t.Fatal("never full")
}

func TestWhatIsPaidForIsCommittedWhenMemoryIsFull(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	w := openOn(t, server.Client(t))
	recorded, released, canceled, ended, fresh := w.reserve(), w.reserve(), w.reserve(), w.reserve(), w.reserve()
	planning := w.claim(recorded, "n1")
	plan := next(planning, journal.Then{Kind: journal.ThenContinue})
	plan.Plan = []journal.Plan{{CallID: "call_0_0", Intent: []byte("i")}}
	_, err := w.store.Commit(w.ctx(), plan)
	require.NoError(t, err)
	holder, back := w.claim(recorded, "n2"), w.claim(released, "n1")
	_, err = w.store.Cancel(w.ctx(), ended)
	require.NoError(t, err)
	fill(t, w.rdb)
	w.store.memory = newMemoryGuard(w.rdb) // as if a second had passed

	_, err = w.store.Reserve(w.ctx(), newExecution(7))
	require.ErrorIs(t, err, journal.ErrOverloaded)
	_, err = w.store.Claim(w.ctx(), journal.ClaimRequest{Execution: fresh, Worker: "w", Nonce: "n", TTL: time.Second})
	var refused *journal.ClaimRefused
	require.ErrorAs(t, err, &refused)
	require.Equal(t, journal.ClaimOverloaded, refused.Reason)
	require.ErrorIs(t, err, journal.ErrOverloaded)

	hold := journal.Hold{Execution: recorded, Fence: holder.Fence, Operation: 1}
	_, err = w.store.Record(w.ctx(), journal.Record{
		Hold: hold, State: journal.Done, Calls: []execution.CallID{"call_0_0"}, Receipts: [][]byte{[]byte("r")},
	})
	require.NoError(t, err)
	_, err = w.store.Renew(w.ctx(), hold, time.Minute)
	require.NoError(t, err)
	w.commit(holder, journal.Then{Kind: journal.ThenContinue})
	_, err = w.store.Release(w.ctx(), journal.Release{
		Hold: journal.Hold{Execution: released, Fence: back.Fence, Operation: 1},
	})
	require.NoError(t, err)
	_, err = w.store.Cancel(w.ctx(), canceled)
	require.NoError(t, err)
	w.now = w.now.Add(200 * time.Hour)
	w.purgeAll()
	_, err = w.store.Get(w.ctx(), ended)
	require.ErrorIs(t, err, journal.ErrNotFound)
}

func TestASweepComesToItsPurgesWhenMemoryIsFull(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	w := openOn(t, server.Client(t))
	waiting := w.reserve()
	p := waiting.Partition()
	w.now = w.now.Add(time.Minute)
	entries, err := w.store.Sweep(w.ctx(), p, 10)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Equal(t, journal.ActStanding, entries[0].Action)
	fill(t, w.rdb)
	require.NoError(t, w.store.Postpone(w.ctx(), entries[0], time.Minute))
	w.store.cfg.SweepLock = 0
	entries, err = w.store.Sweep(w.ctx(), p, 10)
	require.NoError(t, err)
	require.Empty(t, entries)
}

func TestADefinitionIsRefusedAsOverloadWhenMemoryIsFull(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	w := openOn(t, server.Client(t))
	require.NoError(t, w.store.PutDefinition(w.ctx(), "hash", []byte("d")))
	fill(t, w.rdb)
	require.ErrorIs(t, w.store.PutDefinition(w.ctx(), "hash", []byte("d")), journal.ErrOverloaded)
	stored, err := w.store.Definition(w.ctx(), "hash")
	require.NoError(t, err)
	require.Equal(t, []byte("d"), stored)
}

func TestTheMemoryGuardIsOffWithoutALimit(t *testing.T) {
	t.Parallel()
	w := open(t)
	require.False(t, w.store.memory.above(w.ctx(), "k", 0.0000001))
}

func TestARepeatedReserveGivesItsTaskAgain(t *testing.T) {
	t.Parallel()
	w := open(t)
	lose := &losing{}
	w.rdb.AddHook(lose)
	n := newExecution(7)
	lose.armed.Store(true)
	_, err := w.store.Reserve(w.ctx(), n)
	require.ErrorIs(t, err, journal.ErrUnavailable)
	before := dump(t, w.rdb, w.cfg.Prefix)
	again, err := w.store.Reserve(w.ctx(), n)
	require.NoError(t, err)
	require.False(t, again.Created)
	require.Len(t, again.Tasks, 1)
	require.Equal(t, before, dump(t, w.rdb, w.cfg.Prefix))
}

func TestRefusalsNameOperationAndExecution(t *testing.T) {
	t.Parallel()
	w := open(t)
	id := w.reserve()
	_, err := w.store.Commit(w.ctx(), journal.Commit{
		Hold: journal.Hold{Execution: id, Fence: "1-x"}, Then: journal.Then{Kind: journal.ThenContinue},
	})
	require.ErrorIs(t, err, journal.ErrFenced)
	require.ErrorContains(t, err, "commit "+string(id))
	for _, malformed := range []execution.ID{"", "x", "exec_", "exec_99ZZZ", "exec_0700000000000000000000000000{p01}"} {
		_, err := w.store.Get(w.ctx(), malformed)
		require.ErrorIs(t, err, journal.ErrNotFound, malformed)
	}
}

func TestContractErrorsCoverTheTableOfRefusals(t *testing.T) {
	t.Parallel()
	for code, err := range refusals() {
		require.True(t, slices.ContainsFunc(contractErrors(), func(known error) bool { return errors.Is(err, known) }), code)
	}
}
