package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/executor"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/journal/redisjournal"
)

// storedSweep is how long a submission and a step take beside so many executions that have ended, and beside hardly any.
func storedSweep(ctx context.Context, env *Env) (Result, error) {
	r := Result{Title: "Stored executions"}
	empty, err := newSite(ctx)
	if err != nil {
		return r, err
	}
	defer empty.close()
	full, err := newSite(ctx)
	if err != nil {
		return r, err
	}
	defer full.close()
	defer env.briefly()()
	stored := 0
	for _, n := range env.cfg.Stored {
		if err := env.fill(ctx, full, n-stored); err != nil {
			return r, err
		}
		stored = n
		name := fmt.Sprintf("%d stored", n)
		for range env.cfg.Pairs {
			if err := env.visitBoth(ctx, &r, name, empty, full); err != nil {
				return r, err
			}
		}
		says := fmt.Sprintf("with %s finished executions: %%s time, of that with %d", thousands(int64(n)), hardlyAny)
		r.goal(name+": submit, of that with hardly any", atMost(1.2), fmt.Sprintf(says, "submit"))
		r.goal(name+": step, of that with hardly any", atMost(1.2), fmt.Sprintf(says, "step"))
		r.goal(name+": list, of that with hardly any", atMost(1.2), fmt.Sprintf(says, "list"))
	}
	r.Notes = append(r.Notes, "Loaded by the journal's own scripts in pipelines: reserve, claim, terminal commit. Without an "+
		"append-only file. A list is the page of the newest "+fmt.Sprint(listedPage)+" of a caller's tenant. "+
		"Executions run on both stores in turn, one at a time. The other one holds "+fmt.Sprint(hardlyAny)+" of them, so that "+
		"there is a page to list.")
	return r, nil
}

// visitBoth measures one pair: executions on both stores in turn, so that whatever else the machine does meets both.
func (e *Env) visitBoth(ctx context.Context, r *Result, name string, empty, full *site) (err error) {
	if err := empty.empty(ctx); err != nil {
		return err
	}
	if err := e.fill(ctx, empty, hardlyAny); err != nil {
		return err
	}
	var visits [2]*visit
	for i, at := range []*site{empty, full} {
		if visits[i], err = e.visit(ctx, at); err != nil {
			return err
		}
		defer func(l *pawlLoad) { err = errors.Join(err, l.Close(ctx)) }(visits[i].load)
	}
	until := time.Now().Add(2 * e.cfg.Duration)
	for n := 0; n < 2*listedPage || time.Now().Before(until); n++ {
		for _, v := range visits {
			if err := v.once(ctx); err != nil {
				return err
			}
		}
	}
	without, with := visits[0], visits[1]
	r.add(name+": submit p50", "ms", median(with.submits))
	r.add(name+": submit, of that with hardly any", "×", ratio(median(with.submits), median(without.submits)))
	r.add(name+": claim and commit", "ms", with.load.path.step())
	r.add(name+": step, of that with hardly any", "×", ratio(with.load.path.step(), without.load.path.step()))
	r.add(name+": list p50", "ms", median(with.lists))
	r.add(name+": list, of that with hardly any", "×", ratio(median(with.lists), median(without.lists)))
	return nil
}

const (
	// listedPage is how many executions a page of a list has.
	listedPage = 20
	// hardlyAny is how many executions the store holds that stands for an empty one: with none there would be no page to
	// list, and with a few some of the 64 partitions would have none.
	hardlyAny = 8 * execution.Partitions
)

// visit is a worker on one store and what was measured there, in milliseconds.
type visit struct {
	load           *pawlLoad
	submits, lists []float64
}

func (e *Env) visit(ctx context.Context, at *site) (*visit, error) {
	spec := e.spec(pawl, at)
	spec.Chains, spec.Turns, spec.Detailed, spec.Path = 0, 2, true, true
	l, err := startPawl(ctx, spec)
	return &visit{load: l}, err
}

// once runs one execution, and lists the newest ones once there are enough of them: a full page costs the same everywhere.
func (v *visit) once(ctx context.Context) error {
	v.load.path.begin()
	began := time.Now()
	id, err := v.load.submit(ctx, toolAgent)
	if err != nil {
		return err
	}
	v.submits = append(v.submits, millis(time.Since(began)))
	if err := v.load.awaitEnd(ctx, id); err != nil {
		return err
	}
	if len(v.submits) < listedPage {
		return nil
	}
	began = time.Now()
	page, err := v.load.store.List(ctx, journal.Listing{Caller: execution.LocalCaller(), Limit: listedPage})
	if err != nil {
		return err
	}
	v.lists = append(v.lists, millis(time.Since(began)))
	if len(page.Executions) != listedPage {
		return fmt.Errorf("listed %d executions, want %d", len(page.Executions), listedPage)
	}
	return nil
}

// fill stores n executions that have ended.
func (e *Env) fill(ctx context.Context, at *site, n int) error {
	spec := e.spec(pawl, at)
	rdb, _, err := open(spec)
	if err != nil {
		return err
	}
	defer func() { _ = rdb.Close() }() // every call was answered
	joined, end := context.WithCancel(ctx)
	defer end()
	store, err := redisjournal.New(newCoalescer(joined, rdb), redisjournal.Config{Logger: quiet()})
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	catalog, err := definitions(spec)
	if err != nil {
		return err
	}
	definition, _ := catalog.Agent(textAgent)
	if err := store.PutDefinition(ctx, definition.Hash(), definition.Canonical()); err != nil {
		return err
	}
	const fillers = 4 * coalesced
	work, ctx := errgroup.WithContext(ctx)
	var stored atomic.Int64
	for i := range fillers {
		work.Go(func() error {
			for range share(n, fillers, i) {
				if err := storeOne(ctx, store, definition); err != nil {
					return fmt.Errorf("fill the store: %w", err)
				}
				stored.Add(1)
			}
			return nil
		})
	}
	defer e.tell(func() string { return fmt.Sprintf("  %d of %d executions more are stored", stored.Load(), n) })()
	return work.Wait()
}

// tell says how far something is, every 10 s and at its end.
func (e *Env) tell(far func() string) (end func()) {
	done := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		tick := time.NewTicker(10 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				e.say("%s", far())
			case <-done:
				e.say("%s", far())
				return
			}
		}
	})
	return func() {
		close(done)
		all.Wait()
	}
}

// storeOne stores one execution that has ended.
func storeOne(ctx context.Context, store *redisjournal.Store, definition *agent.Definition) error {
	asked := request(textAgent)
	checkpoint, node, messages, err := executor.Opening(definition, asked)
	if err != nil {
		return err
	}
	p := execution.RandomPartition()
	n := journal.NewExecution{
		ID: execution.NewID(p), ConversationID: execution.NewConversationID(p), Fingerprint: "bench",
		Caller: execution.LocalCaller(), Request: asked, Definition: definition.Hash(), Checkpoint: checkpoint, Node: node,
		Messages: messages,
	}
	if _, err := store.Reserve(ctx, n); err != nil {
		return err
	}
	claimed, err := store.Claim(ctx, journal.ClaimRequest{Execution: n.ID, Worker: "bench", Nonce: "n", TTL: time.Minute})
	if err != nil {
		return err
	}
	_, err = store.Commit(ctx, journal.Commit{
		Hold: journal.Hold{Execution: n.ID, Fence: claimed.Fence}, Step: 0, Node: string(executor.RunComplete),
		Checkpoint: checkpoint, Then: journal.Then{Kind: journal.ThenEnd, Outcome: &execution.Outcome{Answer: "Done."}},
	})
	return err
}
