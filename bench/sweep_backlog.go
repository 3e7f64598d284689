package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pawl-run/pawl/execution"
)

const (
	backlogTurns = 3 // 20 steps
	backlogTool  = 20 * time.Millisecond
)

// backlogSweep is how long an execution of 20 steps takes from its start to its end while thousands wait to start, and
// while none waits but just as many are under way. A worker begins new executions as long as it has free slots, so a
// backlog fills it: to compare with a worker that has little to do would measure the load and not the backlog. What
// executions take on such a worker is given besides.
func backlogSweep(ctx context.Context, env *Env) (Result, error) {
	r := Result{Title: "Executions of 20 steps with a tool of 20 ms"}
	queued := fmt.Sprintf("%d queued", env.cfg.Queued)
	few := max(1, env.cfg.Concurrency/5)
	underWay, waiting := float64(env.cfg.Concurrency), 0.0
	for pair := range env.cfg.Pairs {
		var with, without crowd
		sides := []func() error{
			func() (err error) {
				with, err = env.crowd(ctx, env.cfg.Queued)
				underWay = with.underWay
				return err
			},
			func() (err error) {
				without, err = env.crowd(ctx, max(1, int(math.Round(underWay+waiting))))
				waiting = without.waiting // some are on their way to their start all the time
				return err
			},
		}
		for i := range sides {
			if pair%2 == 1 { // with as many under way as in the pair before
				i = 1 - i
			}
			if err := sides[i](); err != nil {
				return r, err
			}
		}
		idle, err := env.crowd(ctx, few)
		if err != nil {
			return r, err
		}
		env.say("  %d/%d  %.0f ms with %d queued, %.0f ms with none", pair+1, env.cfg.Pairs, with.median, env.cfg.Queued, without.median)
		addCrowd(&r, queued, with)
		addCrowd(&r, "none queued, as many under way", without)
		r.add("with a backlog, of without", "×", ratio(with.median, without.median))
		addCrowd(&r, fmt.Sprintf("%d under way", few), idle)
	}
	r.goal("with a backlog, of without", atMost(1.2), fmt.Sprintf(
		"20-step executions with a 20 ms tool: median duration with %s queued executions standing, of that without",
		thousands(int64(env.cfg.Queued))))
	r.Notes = append(r.Notes, "Whenever an execution ends, another one is submitted, so as many wait, and as many are under way, "+
		"all the time. Executions are timed that began after the warm-up.")
	return r, nil
}

// crowd is what was seen of many executions: medians of milliseconds, means of counts.
type crowd struct {
	median, p99, underWay, slots, pending, waiting, perSecond float64
	window                                                    Window
}

func addCrowd(r *Result, name string, c crowd) {
	r.add(name+": median", "ms", c.median)
	r.add(name+": p99", "ms", c.p99)
	r.add(name+": under way", "", c.underWay)
	r.add(name+": slots at work", "", c.slots)
	r.add(name+": steps that wait for a slot", "", c.pending)
	r.add(name+": executions that wait to start", "", c.waiting)
	r.add(name+": executions", "1/s", c.perSecond)
	addCosts(r, name, &c.window)
}

// crowd keeps n executions submitted and measures those that begin and end within the configured time.
func (e *Env) crowd(ctx context.Context, n int) (c crowd, err error) {
	if err := e.main.empty(ctx); err != nil {
		return c, err
	}
	spec := e.spec(pawl, e.main)
	spec.Chains, spec.Turns, spec.ToolDelay, spec.Feed, spec.Spans = 0, backlogTurns, backlogTool, true, true
	if err := e.queueUp(ctx, spec, n); err != nil {
		return c, err
	}
	l, err := startPawl(ctx, spec)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, l.Close(ctx)) }()
	if err := wait(ctx, e.cfg.Warmup); err != nil {
		return c, err
	}
	l.spans.reset()
	if err := e.watchCrowd(ctx, l, &c); err != nil {
		return c, err
	}
	samples := l.spans.read()
	if len(samples) == 0 {
		return c, errors.New("no execution began and ended")
	}
	c.median, c.p99 = median(samples), quantile(samples, 0.99)
	return c, nil
}

// watchCrowd looks at the load for the configured time, and until an execution has ended.
func (e *Env) watchCrowd(ctx context.Context, l *pawlLoad, c *crowd) error {
	var looks float64
	began := time.Now()
	before, err := e.read(ctx, e.main, l)
	if err != nil {
		return err
	}
	for long := e.cfg.Duration + patience; ; {
		if took := time.Since(began); took >= e.cfg.Duration && (len(l.spans.read()) > 0 || took > long) {
			break
		}
		if err := wait(ctx, 20*time.Millisecond); err != nil {
			return err
		}
		depths, err := l.tasks.Depth(ctx)
		if err != nil {
			return err
		}
		looks++
		c.underWay += float64(l.tally.started.Load() - l.tally.ended.Load())
		c.pending += float64(depths[execution.Normal.Queue()].Pending)
		c.waiting += float64(depths[execution.Normal.Queue()+execution.NewSuffix].Pending)
	}
	seconds := time.Since(began).Seconds()
	after, err := e.read(ctx, e.main, l)
	c.underWay, c.pending, c.waiting = c.underWay/looks, c.pending/looks, c.waiting/looks
	c.window = after.minus(&before, seconds)
	c.slots, c.perSecond = c.window.Busy/seconds, c.window.perSecond(c.window.Ended)
	return err
}

// queueUp submits n executions while no worker runs.
func (e *Env) queueUp(ctx context.Context, spec Spec, n int) error {
	l, err := prepare(spec)
	if err != nil {
		return err
	}
	const submitters = 8
	work, within := errgroup.WithContext(ctx)
	for i := range submitters {
		work.Go(func() error {
			for range share(n, submitters, i) {
				if _, err := l.submit(within, toolAgent); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return errors.Join(work.Wait(), l.leave())
}
