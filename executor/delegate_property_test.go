package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal"
)

// grove is a random tree of agents and a random series of deaths.
type grove struct {
	nodes  int                // per task
	agents map[string][][]int // what each agent calls in each turn: agents by their numbers
	order  []string           // the agents by their numbers
	deaths []death
	limit  int64 // of the root's requests; 0: none
	cancel int   // after so many tasks the root is canceled; 0: never
}

func drawGrove(rt *rapid.T, nodes int) grove {
	g := grove{nodes: nodes, agents: map[string][][]int{}, order: []string{"lead", "first", "second"}}
	for _, name := range g.order {
		for range rapid.IntRange(0, 2).Draw(rt, "turns of "+name) {
			g.agents[name] = append(g.agents[name], rapid.SliceOfN(rapid.IntRange(0, len(g.order)-1), 1, 3).Draw(rt, "calls"))
		}
	}
	for range rapid.IntRange(0, 20).Draw(rt, "deaths") {
		g.deaths = append(g.deaths, death{calls: rapid.IntRange(1, 7).Draw(rt, "calls"), after: rapid.Bool().Draw(rt, "after")})
	}
	g.limit = rapid.SampledFrom([]int64{0, 0, 1, 3, 7, 20}).Draw(rt, "limit")
	g.cancel = rapid.SampledFrom([]int{0, 0, 1, 10, 30}).Draw(rt, "cancel")
	return g
}

// kits are those of the agents. Their models answer by their histories alone.
func (g grove) kits(alive func() *life, seen *readings) kitsOf {
	kits := kitsOf{}
	for _, name := range g.order {
		turns := g.agents[name]
		kit := &local.Kit{Model: fakeModel(func(_ context.Context, request local.ModelRequest) (local.ModelResponse, error) {
			if alive().over() {
				return local.ModelResponse{}, &local.Error{Kind: local.Transient, Code: "dead"}
			}
			turn := assistants(request.Messages)
			if turn >= len(turns) {
				return text("end of " + name), nil
			}
			seen.check(request.Messages)
			response := local.ModelResponse{FinishReason: "tool_calls"}
			for _, called := range turns[turn] {
				response.ToolCalls = append(response.ToolCalls, execution.ToolCall{
					Name: "run_" + g.order[called], Arguments: json.RawMessage(`{"prompt":"go on"}`),
				})
			}
			return response, nil
		})}
		for _, called := range g.order {
			kit.Tools = append(kit.Tools, agentTool("run_"+called, called, agent.Durable, nil))
		}
		kits[name] = kit
	}
	return kits
}

// readings are what models have read.
type readings struct {
	mu      sync.Mutex
	problem string
}

func (c *readings) check(messages []execution.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, message := range repair(messages) {
		if message.ToolResult != nil && strings.Contains(string(message.ToolResult.Content), unansweredText) {
			c.problem = "a dangling call reached the model"
		}
	}
}

// Whatever dies and wherever: every execution of a tree ends, every child is started once and delivered once, what all have
// spent is the root's usage, and never above the root's limit.
func TestRandomTreesReachTheirEndWhateverDies(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{1, 8} {
		t.Run(fmt.Sprintf("with %d nodes per task", nodes), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				g := drawGrove(rt, nodes)
				var problem string
				synctest.Test(t, func(t *testing.T) { problem = g.grow(t, newFamily) })
				if problem != "" {
					rt.Fatalf("%s\n%+v", problem, g)
				}
			})
		})
	}
}

func TestRandomTreesReachTheirEndOnRedis(t *testing.T) {
	t.Parallel()
	rdb := redistest.Shared(t).Client(t)
	open := func(t *testing.T, kits kitsOf, limits execution.Limits, change func(*Config)) *family {
		t.Helper()
		store, pass := jumping(t, rdb)
		return newFamilyOn(t, store, pass, kits, limits, change)
	}
	rapid.Check(t, func(rt *rapid.T) {
		g := drawGrove(rt, rapid.SampledFrom([]int{1, 8}).Draw(rt, "nodes per task"))
		if problem := g.grow(t, open); problem != "" {
			rt.Fatalf("%s\n%+v", problem, g)
		}
	})
}

// grow runs the tree to its end and says what was wrong.
func (g grove) grow(t *testing.T, open func(*testing.T, kitsOf, execution.Limits, func(*Config)) *family) string {
	t.Helper()
	var current *life
	seen := &readings{}
	f := open(t, g.kits(func() *life { return current }, seen), execution.Limits{MaxModelRequests: g.limit}, nil)
	deaths := g.deaths
	born := func() {
		current = &life{}
		if len(deaths) > 0 {
			current.death, deaths = &deaths[0], deaths[1:]
		}
		l := current
		f.durable = f.born(func(c *Config) {
			c.Store = &flaky{
				Store: c.Store, before: func(string) error { return l.step(true) }, after: func(string) error { return l.step(false) },
			}
			c.Enqueuer, c.MaxReclaims, c.NodesPerTask, c.MaxDepth = l.enqueuer(f.queue), 1000, g.nodes, 2
		})
	}
	born()
	for ran := 0; ran < 5000; {
		if g.ended(f) {
			return g.verdict(f, seen)
		}
		task, ok := f.queue.pop()
		if !ok {
			f.pass()
			f.sweep()
			continue
		}
		if ran++; ran == g.cancel {
			change, err := f.store.Cancel(t.Context(), f.id)
			require.NoError(t, err)
			require.NoError(t, f.queue.Enqueue(t.Context(), change.Tasks...))
		}
		_ = f.durable.Run(t.Context(), task) // a dead worker's answer reaches nobody
		if current.over() {
			born()
		}
	}
	return "it does not come to its end"
}

func (g grove) ended(f *family) bool {
	if !f.row().State.Terminal() {
		return false
	}
	for _, row := range f.all(f.id) {
		if !row.State.Terminal() {
			return false
		}
	}
	return true
}

func (g grove) verdict(f *family, seen *readings) string {
	root := f.row()
	switch {
	case seen.problem != "":
		return seen.problem
	case g.cancel == 0 && g.limit == 0 && root.State != execution.Completed:
		return fmt.Sprintf("ended %s %+v", root.State, root.Failure)
	}
	own, sent := int64(0), int64(0)
	for _, row := range f.all(f.id) {
		own += row.Usage.Requests - row.Usage.DelegatedRequests
		sent += row.Usage.OwnRequests() // of those that are counted as lost nobody knows whether they were sent
		if problem := g.family(f, row); problem != "" {
			return string(row.ID) + ": " + problem
		}
	}
	if g.limit > 0 && sent > g.limit {
		return fmt.Sprintf("the tree made %d requests, the limit is %d", sent, g.limit)
	}
	if root.State == execution.Completed && own != root.Usage.Requests {
		return fmt.Sprintf("the tree made %d requests, the root counts %d", own, root.Usage.Requests)
	}
	return ""
}

// family checks an execution against its children.
func (g grove) family(f *family, row journal.Execution) string {
	delivered, done := int64(0), map[execution.CallID]int{}
	events, err := f.store.Events(f.t.Context(), row.ID, 0, 10_000)
	require.NoError(f.t, err)
	for _, event := range events {
		switch payload := event.Payload.(type) {
		case execution.ToolCompleted:
			done[payload.CallID]++
		case *execution.ToolCompleted:
			done[payload.CallID]++
		}
	}
	calls := map[execution.CallID]bool{}
	for _, child := range f.children(row.ID) {
		if calls[child.Call] {
			return "two children of " + string(child.Call)
		}
		calls[child.Call] = true
		if done[child.Call] > 1 {
			return string(child.Call) + " was delivered twice"
		}
		if done[child.Call] == 1 {
			delivered += f.get(child.ID).Usage.Requests
		} else if row.State == execution.Completed {
			return string(child.Call) + " was not delivered"
		}
	}
	if delivered != row.Usage.DelegatedRequests {
		return fmt.Sprintf("%d requests were delivered, %d are counted", delivered, row.Usage.DelegatedRequests)
	}
	return ""
}
