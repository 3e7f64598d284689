package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// plan is a random agent and a random series of deaths.
type plan struct {
	nodes  int        // per task
	turns  [][]string // the tools of each turn; the last turn answers
	deaths []death
	flaws  map[string]int // how often a tool refuses, by name
	people []int          // the draws of those who answer questions
}

// death says at which call to the store a worker dies, and on which side of it.
type death struct {
	calls int
	after bool
}

var toolNames = []string{
	"read", "idem", "unsafe", "probed", "human", "gated", "gatedIdem", "ordered", "late", "asker", "client",
}

func drawPlan(rt *rapid.T, nodes int) plan {
	p := plan{flaws: map[string]int{}, nodes: nodes}
	for range rapid.IntRange(0, 3).Draw(rt, "turns") {
		p.turns = append(p.turns, rapid.SliceOfN(rapid.SampledFrom(toolNames), 1, 4).Draw(rt, "tools"))
	}
	for range rapid.IntRange(0, 12).Draw(rt, "deaths") {
		p.deaths = append(p.deaths, death{
			calls: rapid.IntRange(1, 7).Draw(rt, "calls"), after: rapid.Bool().Draw(rt, "after"),
		})
	}
	for _, name := range []string{"read", "idem", "unsafe", "probed", "gated", "ordered", "late", "asker"} {
		p.flaws[name] = rapid.IntRange(0, 2).Draw(rt, "flaws of "+name)
	}
	p.people = rapid.SliceOfN(rapid.IntRange(0, 1000), 0, 30).Draw(rt, "people")
	return p
}

// Cases B9, K3, B6 and E2: whatever dies and wherever, and whatever people answer in whatever parts, nothing is replayed,
// every unsafe effect happens at most once and none without its approval, every call has one receipt, no dangling call
// reaches a model, and everything reaches its end.
func TestCasesB9AndK3_RandomAgentsReachTheirEndWhateverDies(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{1, 8} {
		t.Run(fmt.Sprintf("with %d nodes per task", nodes), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				p := drawPlan(rt, nodes)
				var problem string
				synctest.Test(t, func(t *testing.T) {
					problem = simulate(p, func(kit *local.Kit) *world { return newWorld(t, &agent.Definition{}, kit, nil) })
				})
				if problem != "" {
					rt.Fatalf("%s\n%+v", problem, p)
				}
			})
		})
	}
}

// life is one worker's life: it dies at a call to the store, and then nothing it does has an effect.
type life struct {
	mu    sync.Mutex // guards all below
	dead  bool
	death *death // nil: it lives on
	calls int
}

func (l *life) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

func (l *life) step(before bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return journal.ErrFenced
	}
	if l.death == nil {
		return nil
	}
	if before {
		l.calls++
	}
	if l.calls == l.death.calls && before != l.death.after {
		l.dead = true
		return journal.ErrFenced
	}
	return nil
}

// Enqueue of a dead worker reaches nobody.
func (l *life) enqueuer(queue *tasks) Enqueuer { return mortalQueue{l, queue} }

type mortalQueue struct {
	life  *life
	queue *tasks
}

func (q mortalQueue) Enqueue(ctx context.Context, tasks ...execution.Task) error {
	if q.life.over() {
		return nil
	}
	return q.queue.Enqueue(ctx, tasks...)
}

// outside is the world the tools act on; it outlives every worker.
type outside struct {
	life   *life
	people *people

	mu      sync.Mutex        // guards all below
	order   map[int]int       // the call of a turn that was carried out last, of tools that are sequential
	effects map[string]int    // by effect id
	calls   map[string]string // effect id by call id
	flaws   map[string]int
	problem string
}

func (o *outside) call(name string) func(context.Context, local.Invocation) (local.Answer, error) {
	return func(ctx context.Context, call local.Invocation) (local.Answer, error) {
		if o.life.over() {
			return local.Answer{}, &local.Error{Kind: local.Transient, Code: "dead"}
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.flaws[name] > 0 {
			o.flaws[name]--
			return local.Answer{}, &local.Error{Kind: local.Transient, Code: "refused"}
		}
		id := string(call.Call.CallID)
		if known, ok := o.calls[id]; ok && known != call.EffectID {
			o.problem = "another effect id for " + id
		}
		o.calls[id] = call.EffectID
		o.effects[call.EffectID]++
		if o.effects[call.EffectID] > 1 && !slices.Contains([]string{"read", "idem", "gatedIdem", "asker"}, name) {
			o.problem = fmt.Sprintf("%s call %s happened twice", name, id)
		}
		return says("done")(ctx, call)
	}
}

func (o *outside) probe(_ context.Context, call local.Invocation) (local.ProbeResult, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.effects[call.EffectID] == 0 {
		return local.ProbeResult{State: local.ProbeAbsent}, nil
	}
	result := execution.TextResult(call.Call, "done")
	return local.ProbeResult{State: local.ProbeDone, Result: &result}, nil
}

func (o *outside) kit(p plan) *local.Kit {
	var turns []local.ModelResponse
	for _, names := range p.turns {
		turns = append(turns, calling(names...))
	}
	turns = append(turns, text("end"))
	probed := tool("probed", agent.Reconcile, o.call("probed"))
	probed.probe = o.probe
	return &local.Kit{
		Model: fakeModel(func(_ context.Context, request local.ModelRequest) (local.ModelResponse, error) {
			if o.life.over() {
				return local.ModelResponse{}, &local.Error{Kind: local.Transient, Code: "dead"}
			}
			if !slices.EqualFunc(repair(request.Messages), request.Messages, sameMessage) {
				o.problem = "a dangling call reached the model"
			}
			return turns[assistants(request.Messages)], nil
		}),
		Tools: append([]local.Tool{
			tool("read", agent.ReadOnly, o.call("read")), tool("idem", agent.Idempotent, o.call("idem")),
			tool("unsafe", agent.Unsafe, o.call("unsafe")), probed,
		}, o.askingTools()...),
	}
}

func sameMessage(a, b execution.Message) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

func assistants(messages []execution.Message) int {
	n := 0
	for _, message := range messages {
		if message.Role == execution.RoleAssistant {
			n++
		}
	}
	return n
}

// simulate runs the plan to its end and says what was wrong.
func simulate(p plan, open func(*local.Kit) *world) string {
	o := &outside{
		effects: map[string]int{}, calls: map[string]string{}, flaws: p.flaws, order: map[int]int{},
		people: &people{draws: p.people, allowed: map[execution.CallID]string{}},
	}
	kit := o.kit(p)
	w := open(kit)
	deaths := p.deaths
	born := func() {
		o.life = &life{}
		if len(deaths) > 0 {
			o.life.death, deaths = &deaths[0], deaths[1:]
		}
		l := o.life
		w.durable = w.worker(kit, func(c *Config) {
			c.Store = &flaky{
				Store: c.Store, before: func(string) error { return l.step(true) }, after: func(string) error { return l.step(false) },
			}
			c.Enqueuer, c.MaxReclaims, c.NodesPerTask = l.enqueuer(w.queue), 1000, p.nodes
		})
	}
	born()
	for range 2000 {
		row := w.row()
		switch {
		case row.State.Terminal():
			return verdict(w, o, p)
		case row.State == execution.Suspended:
			return "suspended: " + row.Suspension.Detail
		case row.State == execution.WaitingForInput:
			w.answer(o.people.reply(row.PendingInteraction))
			continue
		}
		task, ok := w.queue.pop()
		if !ok {
			w.pass()
			w.sweep()
			continue
		}
		_ = w.durable.Run(w.t.Context(), task) // a dead worker's answer reaches nobody
		if o.life.over() {
			born()
		}
	}
	return "it does not come to its end"
}

// verdict checks what a finished execution must look like.
func verdict(w *world, o *outside, p plan) string {
	row := w.row()
	if o.problem != "" {
		return o.problem
	}
	if row.State != execution.Completed || row.Outcome.Answer != "end" {
		return fmt.Sprintf("ended %s %+v", row.State, row.Failure)
	}
	checkpoints, types := w.checkpoints(), w.types()
	if len(checkpoints) != int(row.Step)+1 {
		return "a step without its checkpoint, or one too many"
	}
	calls := 0
	for _, turn := range p.turns {
		calls += len(turn)
	}
	want := map[execution.EventType]int{
		execution.TypeModelStarted: len(p.turns) + 1, execution.TypeModelCompleted: len(p.turns) + 1,
		execution.TypeToolStarted: calls, execution.TypeToolCompleted: calls, execution.TypeExecutionCompleted: 1,
		execution.TypeExecutionStarted: 1, execution.TypeExecutionQueued: 1,
	}
	for kind, n := range want {
		if countOf(types, kind) != n {
			return fmt.Sprintf("%d events %s, want %d: %v", countOf(types, kind), kind, n, types)
		}
	}
	if types[len(types)-1] != execution.TypeExecutionCompleted {
		return "the terminal event is not the last one"
	}
	history := w.history()
	if !slices.EqualFunc(repair(history), history, sameMessage) || len(history) != 2+len(p.turns)+calls {
		return fmt.Sprintf("the history is not whole: %d messages", len(history))
	}
	for _, message := range history {
		if message.ToolResult != nil && message.ToolResult.IsError {
			calls--
		}
	}
	if int(row.Usage.ToolCalls) != calls {
		return fmt.Sprintf("%d calls counted, want %d", row.Usage.ToolCalls, calls)
	}
	return ""
}

// FuzzDecodeCheckpoint: whatever is stored, reading it never panics, and what is read is written back readable.
func FuzzDecodeCheckpoint(f *testing.F) {
	data, err := NewCheckpoint(5, ToolReturn, testState()).Encode()
	require.NoError(f, err)
	f.Add(data)
	f.Add([]byte(`{"v":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		checkpoint, err := DecodeCheckpoint(data)
		if err != nil {
			return
		}
		again, err := checkpoint.Encode()
		if err != nil {
			return // a status that only Go code could have made
		}
		_, err = DecodeCheckpoint(again)
		require.NoError(t, err)
	})
}
