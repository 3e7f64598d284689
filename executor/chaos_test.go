package executor

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal"
)

// chaos is one execution to which everything happens: models and tools that answer anything, workers that die, stop and are
// superseded, calls to the store whose replies are lost, tasks that are lost, late and delivered twice, and people who answer,
// pause, resume, release and cancel at any moment. After a while it calms down, and the execution must come to its end.
type chaos struct {
	seed uint64
	w    *world
	r    *rand.Rand    // of the driver
	mood int           // what goes on going wrong until it calms down, if anything
	long time.Duration // that a slow call takes

	chaosWorkers
	chaosOutside

	mu      sync.Mutex
	draws   map[string]int // guarded by mu: how often each thing was decided
	over    bool           // guarded by mu: nothing odd happens any more
	meddles int            // guarded by mu: how much may yet happen inside calls
	problem string         // guarded by mu

	asked                        map[execution.RequestID]execution.Input
	takenBack, resumed, canceled int // commands that were carried out
}

// The moods of a chaos that go on.
const (
	refusesRequests = iota
	killsWorkers
)

// decide is the randomness of the n-th decision about something: the same whatever else goes on at the same time.
func (c *chaos) decide(about string) *rand.Rand {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.draws[about]++
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s#%d", about, c.draws[about])
	return rand.New(rand.NewPCG(c.seed, h.Sum64())) //nolint:gosec // a repeatable one is wanted
}

func (c *chaos) calm() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over
}

func (c *chaos) wrong(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.problem == "" {
		c.problem = fmt.Sprintf(format, args...)
	}
}

func (c *chaos) found() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.problem
}

// Cases A22, B1, B5, B6, B7, B9, C2, E2 and E3 together.
func TestWhateverHappensTheExecutionIsWholeAndEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		seed := binary.BigEndian.Uint64(rapid.SliceOfN(rapid.Byte(), 8, 8).Draw(rt, "seed"))
		var problem string
		synctest.Test(t, func(t *testing.T) {
			problem = throughChaos(seed, 20*time.Second, func(d *agent.Definition) *world { return newWorld(t, d, &local.Kit{}, nil) })
		})
		if problem != "" {
			rt.Fatalf("seed %d: %s", seed, problem)
		}
	})
}

func TestWhateverHappensTheExecutionIsWholeAndEndsOnRedis(t *testing.T) {
	t.Parallel()
	rdb := redistest.Shared(t).Client(t)
	for range 4 {
		seed := rand.Uint64() //nolint:gosec // it is told
		store, pass := jumping(t, rdb)
		problem := throughChaos(seed, 200*time.Millisecond, func(d *agent.Definition) *world { return newWorldOn(t, store, pass, d, &local.Kit{}, nil) })
		require.Empty(t, problem, "seed %d", seed)
		_, err := store.Audit(t.Context(), false, func(found journal.Finding) { problem += fmt.Sprintf("%+v ", found) })
		require.NoError(t, err)
		require.Empty(t, problem, "seed %d: audit", seed)
	}
}

// throughChaos makes an agent and an execution of it, and says what was wrong.
func throughChaos(seed uint64, long time.Duration, open func(*agent.Definition) *world) string {
	c := &chaos{
		seed: seed, long: long, r: rand.New(rand.NewPCG(seed, 1)), //nolint:gosec // a repeatable one is wanted
		draws: map[string]int{}, asked: map[execution.RequestID]execution.Input{},
	}
	c.meddles, c.mood = c.r.IntN(12), c.r.IntN(10)
	c.chaosOutside = newChaosOutside()
	definition := c.definition()
	c.w = open(definition)
	c.birth()
	defer c.rest()
	lively := c.r.IntN(250)
	for i := range 3000 {
		if c.found() != "" {
			return c.found()
		}
		row := c.w.row()
		if row.State.Terminal() {
			c.rest()
			return c.verdict()
		}
		if i >= lively {
			c.mu.Lock()
			c.over = true
			c.mu.Unlock()
			c.bringOn(&row)
			continue
		}
		c.something(&row)
	}
	return fmt.Sprintf("it does not come to its end: %+v", c.w.row())
}

// bringOn does what the execution waits for.
func (c *chaos) bringOn(row *journal.Execution) {
	c.replaceTheDead()
	switch {
	case row.State == execution.Suspended && row.Suspension.Reason == execution.ReasonLimit:
		c.command("cancel")
	case row.State == execution.Suspended:
		c.command("resume")
	case row.State == execution.WaitingForInput:
		c.answer(row.PendingInteraction)
	default:
		c.work()
	}
}

// something happens.
func (c *chaos) something(row *journal.Execution) {
	switch n := c.r.IntN(100); {
	case n < 72:
		c.replaceTheDead()
		c.work()
	case n < 79 && row.PendingInteraction != nil:
		c.answer(row.PendingInteraction)
	case n < 83 && row.State == execution.Suspended:
		c.command("resume")
	case n < 84:
		c.command("pause")
	case n < 85:
		c.command("release")
	case n < 86:
		if c.r.IntN(4) == 0 {
			c.command("cancel")
		}
	case n < 88:
		_, _ = c.w.queue.pop() // a task is lost
	case n < 91:
		c.kill()
	case n < 93:
		c.drain()
	default:
		c.elapse()
	}
}

// work runs a task, perhaps beside what goes on, perhaps twice; without one a reaper has its turn.
func (c *chaos) work() {
	task, ok := c.w.queue.pop()
	if !ok {
		c.elapse()
		return
	}
	if c.calm() || c.r.IntN(4) != 0 {
		c.run(c.durable, task)
		return
	}
	worker := c.durable
	c.busy.Go(func() { c.run(worker, task) })
	if c.r.IntN(3) == 0 {
		c.busy.Go(func() { c.run(worker, task) })
	}
}

func (c *chaos) run(worker *Durable, task execution.Task) {
	var back *execution.PutBack
	if err := worker.Run(c.w.t.Context(), task); errors.As(err, &back) {
		_ = c.w.queue.Enqueue(c.w.t.Context(), task) // it is in memory
		<-time.After(back.After)
	}
}

// elapse lets time pass, and a reaper look.
func (c *chaos) elapse() {
	c.w.pass()
	if c.r.IntN(4) == 0 {
		for range 40 {
			c.w.pass()
		}
	}
	c.w.sweep()
}

// command is one of a person or an operator; what it is refused for is the journal's business.
func (c *chaos) command(name string) {
	ctx, store := c.w.t.Context(), c.w.store
	var change journal.Change
	var err error
	switch name {
	case "cancel":
		change, err = store.Cancel(ctx, c.w.id)
	case "pause":
		change, err = store.Pause(ctx, c.w.id)
	case "resume":
		change, err = store.Resume(ctx, c.w.id, journal.Resumption{})
	default:
		change, err = store.TakeBack(ctx, c.w.id)
	}
	if err != nil {
		if !errors.Is(err, journal.ErrState) {
			c.wrong("%s: %v", name, err)
		}
		return
	}
	c.mu.Lock()
	if change.Changed {
		switch name {
		case "cancel":
			c.canceled++
		case "resume":
			c.resumed++
		case "release":
			c.takenBack++
		}
	}
	c.mu.Unlock()
	_ = c.w.queue.Enqueue(ctx, change.Tasks...) // it is in memory
}

// answer answers what is open; then perhaps again, and somebody else answers something else.
func (c *chaos) answer(open *execution.Interaction) {
	input := c.reply(open)
	c.say(open, "op-"+string(open.RequestID), input)
	if c.r.IntN(3) == 0 {
		c.say(open, "op-"+string(open.RequestID), input)
	}
	if c.r.IntN(3) == 0 {
		c.say(open, "late-"+string(open.RequestID), c.reply(open))
	}
}

func (c *chaos) say(open *execution.Interaction, operation string, input execution.Input) {
	payload, err := json.Marshal(input)
	if err != nil {
		c.wrong("%v", err)
		return
	}
	mutation, err := c.w.store.CommitInteractionInput(c.w.t.Context(), c.w.id, journal.InteractionInput{
		OperationID: execution.OperationID(operation), RequestID: open.RequestID, Response: string(payload),
	})
	switch {
	case errors.Is(err, journal.ErrInteractionClosed), errors.Is(err, journal.ErrConflict):
	case err != nil:
		c.wrong("answer %s: %v", operation, err)
	case !mutation.Replayed:
		if _, twice := c.asked[open.RequestID]; twice {
			c.wrong("%s was answered twice", open.RequestID)
		}
		c.asked[open.RequestID] = input
		c.allow(open, input)
	}
	_ = c.w.queue.Enqueue(c.w.t.Context(), mutation.Tasks...) // it is in memory
}

// chaosWorkers are the worker that is alive, and what goes on in those there were.
type chaosWorkers struct {
	durable *Durable
	life    *life
	deaths  int
	stop    context.CancelFunc
	busy    sync.WaitGroup
}

// birth begins the life of a worker.
func (c *chaos) birth() {
	l := &life{}
	switch {
	case c.calm():
	case c.mood == killsWorkers:
		l.death = &death{calls: 2, after: c.r.IntN(2) == 0}
	case c.r.IntN(2) == 0:
		l.death = &death{calls: 1 + c.r.IntN(20), after: c.r.IntN(2) == 0}
	}
	c.life = l
	c.durable = c.w.worker(c.kit(l), func(cfg *Config) {
		cfg.Store = &flaky{
			Store:  cfg.Store,
			before: func(method string) error { return c.mishap(l, method, true) },
			after:  func(method string) error { return c.mishap(l, method, false) },
		}
		cfg.Enqueuer, cfg.MaxReclaims = l.enqueuer(c.w.queue), 3
		cfg.NodesPerTask = []int{1, 8}[c.seed%2]
		cfg.DrainTimeout = time.Second
	})
	ctx, stop := context.WithCancel(c.w.t.Context())
	c.stop = stop
	watching := c.durable
	c.busy.Go(func() { _ = watching.Watch(ctx) })
}

// mishap is what befalls a call to the store: its caller dies, or it is lost, or its reply is.
func (c *chaos) mishap(l *life, method string, before bool) error {
	if err := l.step(before); err != nil {
		return err
	}
	if !c.calm() && c.decide("store "+method).IntN(25) == 0 {
		return journal.ErrUnavailable
	}
	return nil
}

func (c *chaos) replaceTheDead() {
	if !c.life.over() {
		return
	}
	c.deaths++
	c.stop()
	c.birth()
}

func (c *chaos) kill() {
	c.life.mu.Lock()
	c.life.dead = true
	c.life.mu.Unlock()
}

// drain stops the worker as a deployment does.
func (c *chaos) drain() {
	_ = c.durable.Drain(c.w.t.Context()) // nodes that do not return in time let their claims run out
	c.stop()
	c.birth()
}

// rest waits for all that goes on.
func (c *chaos) rest() {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	c.stop()
	c.busy.Wait()
}
