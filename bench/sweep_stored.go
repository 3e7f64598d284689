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

// storedSweep is how long a submission and a step take beside so many executions that have ended, and on an empty store.
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
		for pair := range env.cfg.Pairs {
			if err := env.visitBoth(ctx, &r, name, empty, full, pair%2 == 1); err != nil {
				return r, err
			}
		}
		says := fmt.Sprintf("with %s finished executions: %%s time, of that on an empty store", thousands(int64(n)))
		r.goal(name+": submit, of an empty store", atMost(1.2), fmt.Sprintf(says, "submit"))
		r.goal(name+": step, of an empty store", atMost(1.2), fmt.Sprintf(says, "step"))
		r.goal(name+": list, of an empty store", atMost(1.2), fmt.Sprintf(says, "list"))
	}
	r.Notes = append(r.Notes, "Loaded by the journal's own scripts in pipelines: reserve, claim, terminal commit. Without an "+
		"append-only file. A list is the page of the newest "+fmt.Sprint(listedPage)+" of a caller's tenant.")
	return r, nil
}

// visitBoth measures one pair.
func (e *Env) visitBoth(ctx context.Context, r *Result, name string, empty, full *site, fullFirst bool) error {
	if err := empty.empty(ctx); err != nil {
		return err
	}
	sites := []*site{empty, full}
	var seen [2]visitTimes
	for i := range sites {
		if fullFirst {
			i = 1 - i
		}
		var err error
		if seen[i], err = e.visit(ctx, sites[i]); err != nil {
			return err
		}
	}
	without, with := seen[0], seen[1]
	r.add(name+": submit p50", "ms", with.submit)
	r.add(name+": submit, of an empty store", "×", ratio(with.submit, without.submit))
	r.add(name+": claim and commit", "ms", with.step)
	r.add(name+": step, of an empty store", "×", ratio(with.step, without.step))
	r.add(name+": list p50", "ms", with.list)
	r.add(name+": list, of an empty store", "×", ratio(with.list, without.list))
	return nil
}

// visitTimes are milliseconds.
type visitTimes struct{ submit, step, list float64 }

// listedPage is how many executions a page of a list has.
const listedPage = 20

// visit runs some executions one after the other, at least a page of them, and lists the newest ones after each.
func (e *Env) visit(ctx context.Context, at *site) (t visitTimes, err error) {
	spec := e.spec(pawl, at)
	spec.Chains, spec.Turns, spec.Detailed, spec.Path = 0, 2, true, true
	l, err := startPawl(ctx, spec)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, l.Close(ctx)) }()
	var submits, lists []float64
	until := time.Now().Add(e.cfg.Duration)
	for len(submits) < 2*listedPage || time.Now().Before(until) {
		l.path.begin()
		began := time.Now()
		id, err := l.submit(ctx, toolAgent)
		if err != nil {
			return t, err
		}
		submits = append(submits, millis(time.Since(began)))
		if err := l.awaitEnd(ctx, id); err != nil {
			return t, err
		}
		if len(submits) < listedPage {
			continue // a full page costs the same everywhere
		}
		began = time.Now()
		page, err := l.store.List(ctx, journal.Listing{Caller: execution.LocalCaller(), Limit: listedPage})
		if err != nil {
			return t, err
		}
		if len(page.Executions) != listedPage {
			return t, fmt.Errorf("listed %d executions, want %d", len(page.Executions), listedPage)
		}
		lists = append(lists, millis(time.Since(began)))
	}
	t.submit, t.step, t.list = median(submits), l.path.step(), median(lists)
	return t, nil
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
