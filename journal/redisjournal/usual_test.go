package redisjournal

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal"
)

// withoutUsual is the script without what stands in front of it.
func withoutUsual(t *testing.T, s *script) *script {
	t.Helper()
	before, front, found := strings.Cut(s.source, "do\n"+file(s.name+usual)+"end\n")
	require.True(t, found, "the script %s has a usual way in front of it", s.name)
	return &script{name: s.name, Script: redis.NewScript(before + front), source: before + front, keys: s.keys}
}

// twins are two stores that are asked the same. The second one goes no usual ways.
type twins struct {
	with, without *world
	id            execution.ID
	claimed       journal.Claimed
	nonces        int
}

func newTwins(t *testing.T, n journal.NewExecution) *twins {
	t.Helper()
	w := &twins{with: open(t), without: open(t), id: n.ID}
	s := &w.without.store.scripts
	w.with.listen()
	w.without.listen()
	s.claim, s.commit, s.record = withoutUsual(t, s.claim), withoutUsual(t, s.commit), withoutUsual(t, s.record)
	_, err := w.both(t, func(s *Store) (any, error) { return s.Reserve(w.with.ctx(), n) })
	require.NoError(t, err)
	return w
}

// both asks both stores, and requires that they answer alike and hold the same.
func (w *twins) both(t require.TestingT, ask func(s *Store) (any, error)) (any, error) {
	answer, err := ask(w.with.store)
	other, errOther := ask(w.without.store)
	require.Equal(t, fmt.Sprint(errOther), fmt.Sprint(err))
	require.Equal(t, other, answer)
	require.Equal(t, w.without.stored(), w.with.stored())
	return answer, err
}

// stored is what the world's store holds, without its prefix.
func (w *world) stored() map[string]string {
	out := make(map[string]string)
	for key, value := range dump(w.t, w.rdb, w.cfg.Prefix) {
		out[strings.TrimPrefix(key, w.cfg.Prefix)] = value
	}
	return out
}

// listen notes what is published from now on.
func (w *world) listen() {
	w.t.Helper()
	w.heard = w.rdb.PSubscribe(w.ctx(), w.cfg.Prefix+":*")
	_, err := w.heard.Receive(w.ctx())
	require.NoError(w.t, err)
}

// published is what was published since, without the prefix. It ends the listening.
func (w *world) published(t require.TestingT) (all []string) {
	require.NoError(t, w.rdb.Publish(w.ctx(), w.cfg.Prefix+":end", "").Err())
	for {
		message, err := w.heard.ReceiveMessage(w.ctx())
		require.NoError(t, err)
		channel := strings.TrimPrefix(message.Channel, w.cfg.Prefix)
		if channel == ":end" {
			require.NoError(t, w.heard.Close())
			return all
		}
		all = append(all, channel+" "+message.Payload)
	}
}

func (w *twins) claim(rt *rapid.T) {
	w.nonces++
	request := journal.ClaimRequest{
		Execution: w.id, Worker: "w1", Nonce: fmt.Sprintf("n%d", w.nonces), TTL: 15 * time.Second, MaxReclaims: 2,
		KnownMessages: rapid.IntRange(0, 3).Draw(rt, "known"), History: rapid.Bool().Draw(rt, "history"),
	}
	if rapid.IntRange(0, 9).Draw(rt, "any step") > 0 {
		step := w.claimed.Execution.Step + execution.Step(rapid.SampledFrom([]int{0, 0, 0, 0, 1}).Draw(rt, "ahead"))
		request.Step = &step
	}
	answer, err := w.both(rt, func(s *Store) (any, error) { return s.Claim(w.with.ctx(), request) })
	if err == nil {
		w.claimed = answer.(journal.Claimed)
	}
}

func (w *twins) commit(rt *rapid.T) {
	commit := next(w.claimed, journal.Then{Kind: journal.ThenContinue})
	b := drawBoundary(rt)
	commit.Messages, commit.Plan, commit.Events, commit.Consumed = b.Messages, b.Plan, b.Events, b.Consumed
	for range rapid.IntRange(0, 2).Draw(rt, "earlier") {
		commit.Earlier = append(commit.Earlier, drawBoundary(rt))
	}
	for _, plan := range commit.Plan {
		commit.Batch = append(commit.Batch, plan.CallID)
	}
	commit.ReadsHistory = rapid.Bool().Draw(rt, "reads")
	commit.Usage = execution.Usage{Requests: rapid.Int64Range(0, 3).Draw(rt, "requests")}
	if rapid.Bool().Draw(rt, "claim known") {
		commit.ClaimedAtMs = w.claimed.NowMs + rapid.SampledFrom([]int64{0, 0, -1, 40_000}).Draw(rt, "off")
	}
	if rapid.Bool().Draw(rt, "keep") {
		commit.Keep = 15 * time.Second
	}
	if rapid.IntRange(0, 9).Draw(rt, "park") == 0 {
		commit.Then = journal.Then{Kind: journal.ThenPark, WaitKind: execution.WaitChild, Await: []execution.RequestID{"r1"}}
	}
	if rapid.IntRange(0, 5).Draw(rt, "clean-up") == 0 {
		undo := []byte(rapid.SampledFrom([]string{"", "task"}).Draw(rt, "undo"))
		commit.Cleanup = &undo
	}
	answer, err := w.both(rt, func(s *Store) (any, error) { return s.Commit(w.with.ctx(), commit) })
	if err == nil {
		w.claimed.Execution.Step = answer.(journal.Committed).Step
	}
}

func drawBoundary(rt *rapid.T) journal.Boundary {
	b := journal.Boundary{Checkpoint: []byte(rapid.StringN(0, 8, 40).Draw(rt, "checkpoint"))}
	for range rapid.IntRange(0, 2).Draw(rt, "messages") {
		b.Messages = append(b.Messages, []byte(rapid.StringN(0, 8, 40).Draw(rt, "message")))
	}
	for i := range rapid.IntRange(0, 2).Draw(rt, "plans") {
		b.Plan = append(b.Plan, journal.Plan{CallID: execution.CallID(fmt.Sprintf("c%d", i)), Intent: []byte("intent")})
	}
	for range rapid.IntRange(0, 2).Draw(rt, "events") {
		b.Events = append(b.Events, execution.ModelStarted{Turn: 1, InvocationID: "i"})
	}
	if rapid.IntRange(0, 9).Draw(rt, "consumed") == 0 {
		b.Consumed = []execution.RequestID{"r1"}
	}
	return b
}

func (w *twins) record(rt *rapid.T) {
	record := journal.Record{
		Hold: journal.Hold{Execution: w.id, Fence: w.claimed.Fence}, State: rapid.SampledFrom(
			[]journal.LedgerState{journal.Started, journal.Done, journal.Done}).Draw(rt, "state"),
	}
	for i := range rapid.IntRange(1, 2).Draw(rt, "calls") {
		call := execution.CallID(fmt.Sprintf("c%d", i))
		record.Calls = append(record.Calls, call)
		if record.State == journal.Done {
			record.Receipts = append(record.Receipts, []byte("receipt"))
			record.Events = append(record.Events, execution.ToolCompleted{CallID: call, Name: "t"})
		}
	}
	if rapid.Bool().Draw(rt, "usage") {
		record.Usage = &execution.Usage{ToolCalls: 2}
	}
	if record.State == journal.Done && rapid.IntRange(0, 3).Draw(rt, "blob") == 0 {
		record.Blobs = []journal.Blob{{Hash: strings.Repeat("a", 64), Content: []byte("large")}}
	}
	_, _ = w.both(rt, func(s *Store) (any, error) { return s.Record(w.with.ctx(), record) })
}

// command does what makes the row an unusual one.
func (w *twins) command(rt *rapid.T) {
	switch rapid.IntRange(0, 5).Draw(rt, "command") {
	case 0:
		_, _ = w.both(rt, func(s *Store) (any, error) { return s.Pause(w.with.ctx(), w.id) })
	case 1:
		_, _ = w.both(rt, func(s *Store) (any, error) {
			return s.Release(w.with.ctx(), journal.Release{
				Hold:  journal.Hold{Execution: w.id, Fence: w.claimed.Fence, Operation: journal.Operation(w.nonces + 1000)},
				Retry: &journal.Retry{Node: "before_model_request", Code: "overloaded", After: time.Second},
			})
		})
	case 2:
		if rapid.IntRange(0, 4).Draw(rt, "cancel") == 0 {
			_, _ = w.both(rt, func(s *Store) (any, error) { return s.Cancel(w.with.ctx(), w.id) })
		}
	default:
		past := rapid.SampledFrom([]time.Duration{time.Millisecond, 2 * time.Second, 20 * time.Second}).Draw(rt, "past")
		w.with.now, w.without.now = w.with.now.Add(past), w.without.now.Add(past)
	}
}

// What stands in front of a script answers and writes as the script does, whatever the row has been through.
func TestTheUsualWaysAnswerAndWriteAsTheScripts(t *testing.T) {
	t.Parallel()
	redistest.Shared(t)
	rapid.Check(t, func(rt *rapid.T) {
		n := newExecution(7)
		if rapid.Bool().Draw(rt, "colon") {
			n.ConversationID = execution.ConversationID("talk:" + string(n.ID))
			n.ID = execution.NewID(n.ConversationID.Partition(execution.LocalCaller().Tenant))
		}
		w := newTwins(t, n)
		for range rapid.IntRange(4, 24).Draw(rt, "calls") {
			switch rapid.IntRange(0, 9).Draw(rt, "call") {
			case 0:
				w.command(rt)
			case 1, 2:
				w.record(rt)
			case 3, 4, 5:
				w.claim(rt)
			default:
				w.commit(rt)
			}
		}
		require.Equal(rt, w.without.published(rt), w.with.published(rt))
	})
}

// The test above holds nothing against anything if nothing is usual: here the scripts behind the usual ways refuse.
func TestTheUsualWaysAreTaken(t *testing.T) {
	t.Parallel()
	w := open(t)
	id := w.reserve()
	w.commit(w.claim(id, "n1"), journal.Then{Kind: journal.ThenContinue})
	scripts := &w.store.scripts
	for _, s := range []**script{&scripts.claim, &scripts.commit, &scripts.record} {
		whole := (*s).source
		front := strings.TrimSuffix(whole, withoutUsual(t, *s).source[strings.Index(whole, "do\n"):])
		require.NotEqual(t, whole, front)
		source := front + "\nreturn redis.error_reply('CONFLICT not usual')\n"
		*s = &script{name: (*s).name, Script: redis.NewScript(source), source: source, keys: (*s).keys}
	}
	for n := range 3 {
		step := w.get(id).Step
		c, err := w.store.Claim(w.ctx(), journal.ClaimRequest{
			Execution: id, Step: &step, Worker: "w1", Nonce: fmt.Sprint("u", n), TTL: 15 * time.Second,
		})
		require.NoError(t, err)
		commit := next(c, journal.Then{Kind: journal.ThenContinue})
		commit.Keep, commit.Earlier = 15*time.Second, []journal.Boundary{{Checkpoint: []byte("c")}}
		commit.Messages, commit.Events = [][]byte{[]byte("m")}, []execution.Payload{execution.ToolStarted{CallID: "c", Name: "t"}}
		commit.Plan, commit.Batch = []journal.Plan{{CallID: execution.CallID(fmt.Sprint("c", n))}}, []execution.CallID{"c"}
		answer, err := w.store.Commit(w.ctx(), commit)
		require.NoError(t, err)
		require.True(t, answer.Kept)
		_, err = w.store.Record(w.ctx(), journal.Record{
			Hold: commit.Hold, State: journal.Done, Calls: []execution.CallID{commit.Plan[0].CallID}, Receipts: [][]byte{[]byte("r")},
		})
		require.NoError(t, err)
		c.Execution.Step = answer.Step
		commit = next(c, journal.Then{Kind: journal.ThenContinue})
		_, err = w.store.Commit(w.ctx(), commit)
		require.NoError(t, err)
	}
}
