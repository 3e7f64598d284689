package redisjournal

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal"
)

// costs runs executions side by side, one kind of call at a time, so that the server's own statistics tell what a call of
// each kind costs there.
type costs struct {
	b     *testing.B
	rdb   *redis.Client
	store *Store
	ids   []execution.ID
	held  []journal.Claimed
}

// BenchmarkServerTime prints, for a text execution of six nodes, the microseconds that the server spends in each script,
// the allocations of a claim and a commit in the client, and the bytes of a finished execution.
func BenchmarkServerTime(b *testing.B) {
	rdb := redistest.Start(b).Client(b)
	store, err := New(rdb, Config{Prefix: redistest.Prefix()})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, store.Close()) })
	c := &costs{b: b, rdb: rdb, store: store}
	const executions = 2000
	before := c.memory()
	user := c.reserve(executions)
	claims, commits := time.Duration(0), time.Duration(0)
	for step := range 5 {
		claims += c.claim(step)
		if step == 2 {
			c.phase("record", executions, c.record)
		}
		commits += c.phase("", executions, func() { c.commit(step) })
	}
	c.claim(5)
	c.phase("end", executions, func() { user += c.end() })
	b.ReportMetric(micros(claims, 5*executions), "us/claim")
	b.ReportMetric(micros(commits, 5*executions), "us/commit")
	b.ReportMetric(float64(c.memory()-before-int64(user))/executions, "B/finished")
	c.keys()
	c.again()
	b.ReportMetric(0, "ns/op")
}

func micros(d time.Duration, calls int) float64 {
	return float64(d.Nanoseconds()) / 1000 / float64(calls)
}

var (
	scriptTime = regexp.MustCompile(`cmdstat_eval(?:sha)?:calls=\d+,usec=(\d+)`)
	usedBytes  = regexp.MustCompile(`used_memory:(\d+)`)
)

// phase measures what the scripts that call runs cost the server.
func (c *costs) phase(name string, calls int, call func()) time.Duration {
	ctx := context.Background()
	require.NoError(c.b, c.rdb.ConfigResetStat(ctx).Err())
	call()
	stats, err := c.rdb.Info(ctx, "commandstats").Result()
	require.NoError(c.b, err)
	var spent time.Duration
	for _, found := range scriptTime.FindAllStringSubmatch(stats, -1) {
		us, err := strconv.ParseInt(found[1], 10, 64)
		require.NoError(c.b, err)
		spent += time.Duration(us) * time.Microsecond
	}
	if name != "" {
		c.b.ReportMetric(micros(spent, calls), "us/"+name)
	}
	return spent
}

func (c *costs) memory() int64 {
	info, err := c.rdb.Info(context.Background(), "memory").Result()
	require.NoError(c.b, err)
	used, err := strconv.ParseInt(usedBytes.FindStringSubmatch(info)[1], 10, 64)
	require.NoError(c.b, err)
	return used
}

func (c *costs) reserve(executions int) (userBytes int) {
	var user int
	c.phase("reserve", executions, func() {
		for i := range executions {
			n := newExecution(execution.Partition(i % execution.Partitions))
			n.Fingerprint, n.Definition = strings.Repeat("f", 64), strings.Repeat("d", 64)
			n.Request.Input.Text = "Which of the trains to Bergen has a seat by the window?"
			n.Messages = [][]byte{[]byte(`{"role":"user","content":"` + n.Request.Input.Text + `"}`)}
			var e encoder
			user += len(n.Messages[0]) + len(e.blob(n.Request))
			_, err := c.store.Reserve(context.Background(), n)
			require.NoError(c.b, err)
			c.ids = append(c.ids, n.ID)
		}
	})
	return user
}

func (c *costs) claim(step int) time.Duration {
	c.held = c.held[:0]
	return c.phase("", len(c.ids), func() {
		for i, id := range c.ids {
			at := execution.Step(step)
			claimed, err := c.store.Claim(context.Background(), journal.ClaimRequest{
				Execution: id, Step: &at, Worker: "worker-01JDXK3M5N7P", Nonce: fmt.Sprintf("%026d", i), TTL: time.Minute,
			})
			require.NoError(c.b, err)
			c.held = append(c.held, claimed)
		}
	})
}

func (c *costs) commit(step int) {
	for _, held := range c.held {
		commit := next(held, journal.Then{Kind: journal.ThenContinue})
		commit.Checkpoint = make([]byte, 200)
		if step == 1 {
			commit.Events = []execution.Payload{execution.ModelStarted{Turn: 1, InvocationID: string(held.Fence)}}
			commit.Plan = []journal.Plan{{CallID: "call_0_0", Intent: []byte(`{"name":"lookup"}`)}}
		}
		_, err := c.store.Commit(context.Background(), commit)
		require.NoError(c.b, err)
	}
}

func (c *costs) record() {
	for _, held := range c.held {
		_, err := c.store.Record(context.Background(), journal.Record{
			Hold:  journal.Hold{Execution: held.Execution.ID, Fence: held.Fence},
			State: journal.Done, Calls: []execution.CallID{"call_0_0"}, Receipts: [][]byte{[]byte(`{"ok":true}`)},
			Events: []execution.Payload{execution.ToolCompleted{CallID: "call_0_0", Name: "lookup"}},
		})
		require.NoError(c.b, err)
	}
}

func (c *costs) end() (userBytes int) {
	outcome := &execution.Outcome{Answer: "The one at a quarter past eight has two of them."}
	var e encoder
	for _, held := range c.held {
		commit := next(held, journal.Then{Kind: journal.ThenEnd, Outcome: outcome})
		commit.Checkpoint = make([]byte, 200)
		_, err := c.store.Commit(context.Background(), commit)
		require.NoError(c.b, err)
		userBytes += len(e.blob(outcome))
	}
	return userBytes
}

// keys prints the bytes of each key of one finished execution.
func (c *costs) keys() {
	ctx := context.Background()
	keys, err := c.rdb.Keys(ctx, "*"+string(c.ids[0])+"*").Result()
	require.NoError(c.b, err)
	for _, key := range keys {
		bytes, err := c.rdb.MemoryUsage(ctx, key, 0).Result()
		require.NoError(c.b, err)
		encoding, err := c.rdb.ObjectEncoding(ctx, key).Result()
		require.NoError(c.b, err)
		_, part, _ := strings.Cut(key, string(c.ids[0]))
		c.b.Logf("%-13s %5d B %s", "row"+part, bytes, encoding)
	}
}

// again claims and commits one execution again and again: the least time that the server spends in a claim and a commit
// together, and their allocations in the client.
func (c *costs) again() {
	n := newExecution(1)
	_, err := c.store.Reserve(context.Background(), n)
	require.NoError(c.b, err)
	nonce := 0
	step := func() {
		nonce++
		claimed, err := c.store.Claim(context.Background(), journal.ClaimRequest{
			Execution: n.ID, Worker: "worker-01JDXK3M5N7P", Nonce: fmt.Sprintf("%026d", nonce), TTL: time.Minute,
		})
		require.NoError(c.b, err)
		_, err = c.store.Commit(context.Background(), next(claimed, journal.Then{Kind: journal.ThenContinue}))
		require.NoError(c.b, err)
	}
	best := time.Hour
	for range 10 {
		best = min(best, c.phase("", 0, func() {
			for range 1000 {
				step()
			}
		}))
	}
	c.b.ReportMetric(micros(best, 1000), "us/step")
	c.b.ReportMetric(testing.AllocsPerRun(200, step), "allocs/step")
}
