//go:build faultpoint

package fault

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

const crowd = `
agents:
  booker:
    model:
      provider: scripted
      turns:
        - {delay: 100ms, toolCalls: [{name: lookup, arguments: {city: Oslo}}, {name: pay, arguments: {amount: 7}}]}
        - {delay: 100ms, toolCalls: [{name: lookup, arguments: {city: Bergen}}]}
        - {delay: 100ms, text: "Booked."}
    tools:
      - {name: lookup, type: http, url: "$TOOLS/lookup", recovery: idempotent}
      - {name: pay, type: http, url: "$TOOLS/pay", recovery: unsafe, onUnknown: tell_model}
  asker:
    model:
      provider: scripted
      turns:
        - toolCalls: [{name: lookup, arguments: {city: Oslo}}, {name: confirm, arguments: {question: "Book it?"}}]
        - {text: "Booked."}
    tools:
      - {name: lookup, type: http, url: "$TOOLS/lookup", recovery: idempotent}
      - {name: confirm, type: human}
  moody:
    model:
      provider: scripted
      turns:
        - {error: {status: 503, retryAfter: 300ms}}
        - {delay: 1s, text: "At last."}
`

// chaos is an installation under attack, and the clients that use it meanwhile.
type chaos struct {
	t       *testing.T
	stack   *harness.Stack
	api     *harness.API
	dice    *rand.Rand
	workers []*harness.Process
	reaper  *harness.Process
	done    map[string]int // how often each attack was carried out

	mu       sync.Mutex
	ids      map[execution.ID]bool
	canceled map[execution.ID]bool // a cancel was taken on; false: nobody knows
}

func TestAnInstallationUnderAttackLosesNothing(t *testing.T) {
	t.Parallel()
	attack, heal := 12*time.Second, time.Minute
	if soak() {
		attack, heal = 3*time.Minute, 3*time.Minute
	}
	seed := uint64(time.Now().UnixNano())
	if given, err := strconv.ParseUint(os.Getenv("CHAOS_SEED"), 10, 64); err == nil {
		seed = given
	}
	t.Logf("repeat the order of attacks with CHAOS_SEED=%d", seed)
	tools := harness.Tools(t)
	tools.Behave("/lookup", harness.After(30*time.Millisecond))
	stack := harness.New(t, harness.Config{
		Agents: agentsFor(tools, crowd), Redis: []string{"--appendonly", "yes", "--appendfsync", "always"},
		Env: map[string]string{"PAWL_MAX_RECLAIMS": "1000"}, // so many killed workers are no fault of a step
	})
	c := &chaos{
		t: t, stack: stack, api: stack.API(), dice: rand.New(rand.NewPCG(seed, 0)), //nolint:gosec // no secret
		reaper: stack.Reaper(), done: map[string]int{}, ids: map[execution.ID]bool{}, canceled: map[execution.ID]bool{},
		workers: []*harness.Process{stack.Worker(), stack.Worker(), stack.Worker()},
	}
	over := make(chan struct{})
	var clients sync.WaitGroup
	for i := range 4 {
		clients.Go(func() { c.submitUntil(over, i) })
	}
	for until := time.Now().Add(attack); time.Now().Before(until); {
		c.attack()
	}
	close(over)
	clients.Wait()
	c.settle(heal)
	c.check(tools)
}

// submitUntil submits with a key each, and repeats a submission until it is answered.
func (c *chaos) submitUntil(over <-chan struct{}, client int) {
	agents := []string{"booker", "asker", "moody"}
	for n := 0; ; n++ {
		select {
		case <-over:
			return
		case <-time.After(150 * time.Millisecond):
		}
		key := fmt.Sprintf("client-%d-%d", client, n)
		body := harness.Submission(agents[n%len(agents)], key)
		harness.Poll(time.Minute, func() bool {
			answer, err := c.api.TrySubmit(context.Background(), key, body)
			if err != nil || answer.Status >= http.StatusInternalServerError {
				return false
			}
			view, err := answer.View()
			if err != nil || answer.Status >= http.StatusMultipleChoices {
				c.t.Errorf("submit %s: %d %s", key, answer.Status, answer.Body)
				return true
			}
			c.mu.Lock()
			c.ids[view.ID] = true
			c.mu.Unlock()
			if n%8 == 7 {
				c.cancel(view.ID)
			}
			return true
		})
	}
}

// cancel asks once. A 202, or a view that is canceled, is a promise; no answer is none.
func (c *chaos) cancel(id execution.ID) {
	answer, err := c.api.Do(context.Background(), http.MethodPost, "/v1/executions/"+string(id)+"/cancel", nil, nil)
	view, decode := answer.View()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.canceled[id] = err == nil && (answer.Status == http.StatusAccepted || decode == nil && view.State == execution.Canceled)
}

// attack carries out one attack and gives the installation a moment.
func (c *chaos) attack() {
	c.t.Helper()
	moment := func(atMost time.Duration) { <-time.After(time.Duration(c.dice.Int64N(int64(atMost)))) }
	i := c.dice.IntN(len(c.workers))
	attacks := []struct {
		name string
		do   func()
	}{
		{"worker killed", func() { c.workers[i].Kill(); c.workers[i] = c.stack.Worker() }},
		{"worker stopped", func() { c.workers[i].StopCleanly(); c.workers[i] = c.stack.Worker() }},
		{"worker frozen", func() { c.workers[i].Freeze(); moment(4 * time.Second); c.workers[i].Thaw() }},
		{"reaper killed", func() { c.reaper.Kill(); c.reaper = c.stack.Reaper() }},
		{"Redis killed", c.stack.RestartRedis},
		{"Redis paused", func() { c.stack.Server.Pause(); moment(3 * time.Second); c.stack.Server.Resume() }},
		{"scripts flushed", func() { c.ignore(c.stack.Redis.ScriptFlush(context.Background()).Err()) }},
		{"tasks deleted", c.deleteTasks},
	}
	attack := attacks[c.dice.IntN(len(attacks))]
	attack.do()
	c.done[attack.name]++
	moment(700 * time.Millisecond)
}

func (c *chaos) ignore(err error) {
	if err != nil && !errors.Is(err, redis.Nil) {
		c.t.Logf("attack: %v", err)
	}
}

// deleteTasks deletes every task, at one moment as a failover to an empty replica would: nothing in the queue is truth.
func (c *chaos) deleteTasks() {
	const script = `
for _, key in ipairs(redis.call('KEYS', 'asynq:{*')) do redis.call('DEL', key) end`
	c.ignore(c.stack.Redis.Eval(context.Background(), script, nil).Err())
}

// settle answers what is asked until every execution has ended.
func (c *chaos) settle(heal time.Duration) {
	c.t.Helper()
	open := make(map[execution.ID]bool, len(c.ids))
	for id := range c.ids {
		open[id] = true
	}
	var last execution.View
	ended := harness.Poll(heal, func() bool {
		for id := range open {
			answer, err := c.api.Do(context.Background(), http.MethodGet, "/v1/executions/"+string(id), nil, nil)
			if err != nil || answer.Status != http.StatusOK {
				continue
			}
			if last, err = answer.View(); err != nil {
				continue
			}
			if last.State.Terminal() {
				delete(open, id)
			}
			if last.State == execution.WaitingForInput && last.Interaction != nil {
				c.api.TryInput(id, "reply", execution.Input{
					Type: execution.ElicitationResponse, RequestID: last.Interaction.RequestID, Text: "yes",
				})
			}
		}
		return len(open) == 0
	})
	if !ended {
		for id := range open {
			c.t.Logf("open: %v", c.stack.Redis.HGetAll(context.Background(), harness.RowKey(id)).Val())
		}
		c.t.Fatalf("%d of %d executions are open %v after the attacks %v; Asynq holds %v; one of them: %+v",
			len(open), len(c.ids), heal, c.done, c.stack.Standing(), last)
	}
}

func (c *chaos) check(tools *harness.ToolServer) {
	c.t.Helper()
	reclaims, canceled := 0, 0
	for id := range c.ids {
		events := c.api.Events(id)
		harness.CheckLog(c.t, id, events)
		reclaims += harness.CountWarnings(events, execution.WarningReclaimed)
		view := c.api.Get(id)
		taken, asked := c.canceled[id]
		switch {
		case taken:
			require.Equal(c.t, execution.Canceled, view.State, "a cancel that was taken on wins: %+v", view)
			canceled++
		case !asked:
			require.Equal(c.t, execution.Completed, view.State, "%+v", view)
		}
		require.Len(c.t, c.stack.Checkpoints(id), int(view.Step)+1)
	}
	require.Len(c.t, rowKeys(c.stack), len(c.ids), "one execution for each key")
	c.checkIndexes()
	harness.CheckOnce(c.t, tools, "/pay")
	harness.CheckEffectIDs(c.t, tools)
	if soak() { // Asynq gives the tasks of a killed worker back after 30 s, and looks for them once a minute
		none := harness.Poll(4*time.Minute, func() bool { return harness.Sum(c.stack.Standing()) == 0 })
		require.True(c.t, none, "left over: %v", c.leftOver())
	}
	c.t.Logf("%d executions ended, %d of them canceled, with %d reclaims and %d tool calls under %v", len(c.ids), canceled,
		reclaims, len(tools.Calls("")), c.done)
}

// leftOver shows Asynq's tasks that are in progress, with their lease and their state.
func (c *chaos) leftOver() []string {
	ctx := context.Background()
	var found []string
	for _, key := range c.stack.Keys("asynq:*:active") {
		queue := strings.TrimSuffix(key, "active")
		for _, id := range c.stack.Redis.LRange(ctx, key, 0, -1).Val() {
			lease := c.stack.Redis.ZScore(ctx, queue+"lease", id)
			state := c.stack.Redis.HGet(ctx, queue+"t:"+id, "state")
			found = append(found, fmt.Sprintf("%s%s lease %v state %v", queue, id, lease, state))
		}
	}
	return found
}

// checkIndexes checks that each row, all of them ended, stands in the purge index and in no other.
func (c *chaos) checkIndexes() {
	c.t.Helper()
	members := map[string]int{}
	for _, key := range c.stack.Keys("pawl:*") {
		if !strings.HasSuffix(key, "}:due") && !strings.HasSuffix(key, "}:handoff") && !strings.HasSuffix(key, "}:purge") {
			continue
		}
		list, err := c.stack.Redis.ZRange(context.Background(), key, 0, -1).Result()
		require.NoError(c.t, err)
		for _, member := range list {
			members[member]++
			require.True(c.t, strings.HasSuffix(key, ":purge"), "%s stands in %s", member, key)
		}
	}
	for id := range c.ids {
		require.Equal(c.t, 1, members[string(id)], "entries of %s", id)
	}
}
