package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"time"
)

// Env is what measurements run on.
type Env struct {
	cfg      Config
	main     *site
	began    time.Time
	profiles int
}

// newEnv connects to the Redis of the configuration, or starts one.
func newEnv(ctx context.Context, cfg Config) (*Env, error) {
	env := &Env{cfg: cfg, began: time.Now()}
	var err error
	if cfg.RedisURL != "" {
		env.main, err = givenSite(ctx, cfg.RedisURL)
	} else {
		env.main, err = newSite(ctx, "--appendonly", "yes", "--appendfsync", "everysec")
	}
	if err != nil {
		return nil, err
	}
	return env, nil
}

// closeTimeout bounds the tidying of a Redis that was given.
const closeTimeout = 10 * time.Second

// close leaves a Redis that was given as empty as it was.
func (e *Env) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	var err error
	if !e.main.own() {
		err = e.main.empty(ctx)
	}
	e.main.close()
	return err
}

// say notes progress.
func (e *Env) say(format string, args ...any) {
	_, _ = fmt.Fprintf(e.cfg.Progress, "%6.1fs  %s\n", time.Since(e.began).Seconds(), fmt.Sprintf(format, args...)) // only for a person
}

// spec is a load of the configuration's size.
func (e *Env) spec(k kind, at *site) Spec {
	url := at.url
	if at.proxy != nil {
		url = at.proxy.url
	}
	return Spec{
		Kind: k, URL: url, Concurrency: e.cfg.Concurrency, Chains: e.cfg.Chains, NodesPerTask: 1,
		Agent: toolAgent, Turns: e.cfg.Turns, ResultBytes: e.cfg.ResultBytes,
	}
}

// nodesBuilt are the settings of NodesPerTask that this build takes; the notes name the others.
func (e *Env) nodesBuilt(r *Result) []int {
	var built []int
	for _, n := range e.cfg.NodesPerTask {
		spec := e.spec(pawl, e.main)
		spec.NodesPerTask = n
		l, err := prepare(spec)
		if err == nil {
			err = l.leave() // it sent nothing
		}
		if errors.Is(err, errRefused) {
			r.Notes = append(r.Notes, fmt.Sprintf("%s per task: not built", plural(n, "node")))
			continue
		}
		built = append(built, n)
	}
	return built
}

// Window is the difference of two readings.
type Window struct {
	Snap
	Site    SiteSnap
	Seconds float64
}

func (w *Window) perSecond(n int64) float64 { return float64(n) / w.Seconds }

// perStep divides by the steps of the window.
func (w *Window) perStep(n float64) float64 {
	if w.Steps == 0 {
		return 0
	}
	return n / float64(w.Steps)
}

// run empties the site, runs a load for the configured time, and measures a window of it.
func (e *Env) run(ctx context.Context, at *site, spec Spec, processes int) (Window, error) {
	if err := at.empty(ctx); err != nil {
		return Window{}, err
	}
	runtime.GC() // what an earlier load left is not this one's cost
	var (
		work load
		err  error
	)
	if processes > 0 {
		work, err = startWorkers(ctx, e.cfg.Worker, spec, processes)
	} else {
		work, err = spec.start(ctx)
	}
	if err != nil {
		return Window{}, err
	}
	w, err := e.window(ctx, at, work, spec)
	if err = errors.Join(err, work.Close(ctx)); err != nil {
		return w, fmt.Errorf("bench: %s: %w", spec.name(), err)
	}
	if w.Failures > 0 {
		return w, fmt.Errorf("bench: %s: %d failures", spec.name(), w.Failures)
	}
	if w.Steps == 0 && spec.Chains > 0 {
		return w, fmt.Errorf("bench: %s: no step in %.1f s", spec.name(), w.Seconds)
	}
	return w, nil
}

// window measures a load that runs, for the configured time and until a turn was committed.
func (e *Env) window(ctx context.Context, at *site, work load, spec Spec) (Window, error) {
	if err := wait(ctx, e.cfg.Warmup); err != nil {
		return Window{}, err
	}
	stop, err := e.profile(spec)
	if err != nil {
		return Window{}, err
	}
	defer stop()
	began := time.Now()
	before, err := e.read(ctx, at, work)
	if err != nil {
		return Window{}, err
	}
	if err := wait(ctx, e.cfg.Duration); err != nil {
		return Window{}, err
	}
	for {
		ended := time.Now()
		after, err := e.read(ctx, at, work)
		if err != nil {
			return Window{}, err
		}
		w := after.minus(&before, ended.Sub(began).Seconds())
		enough := spec.Chains == 0 || w.Steps > 0 && (spec.Kind != pawl || w.Turns > 0)
		if enough || ended.Sub(began) > e.cfg.Duration+patience {
			return w, nil
		}
		if err := wait(ctx, e.cfg.Duration/4); err != nil {
			return Window{}, err
		}
	}
}

// patience is how much longer a load may take to its first turn, or to the first end of an execution, on a slow machine.
const patience = time.Minute

// minus is what happened since an earlier reading.
func (w *Window) minus(earlier *Window, seconds float64) Window {
	return Window{Snap: w.Snap.minus(earlier.Snap), Site: w.Site.minus(earlier.Site), Seconds: seconds}
}

func (e *Env) read(ctx context.Context, at *site, work load) (Window, error) {
	snap, err := work.Snap(ctx)
	if err != nil {
		return Window{}, err
	}
	servers, err := at.snap(ctx)
	return Window{Snap: snap, Site: servers}, err
}

func (s SiteSnap) minus(o SiteSnap) SiteSnap {
	return SiteSnap{
		CPU: s.CPU - o.CPU, NetIn: s.NetIn - o.NetIn, Used: s.Used - o.Used, AOF: s.AOF - o.AOF,
		Commands: s.Commands - o.Commands,
	}
}

// profile writes a CPU profile until it is stopped, and one of allocations, if profiles are wanted.
func (e *Env) profile(spec Spec) (stop func(), err error) {
	if e.cfg.Profile == "" {
		return func() {}, nil
	}
	e.profiles++
	name := fmt.Sprintf("%03d-%s-%d.pprof", e.profiles, strings.ReplaceAll(string(spec.Kind), " ", "-"), spec.NodesPerTask)
	file, err := os.Create(filepath.Join(e.cfg.Profile, name))
	if err != nil {
		return nil, fmt.Errorf("bench: profile: %w", err)
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(fmt.Errorf("bench: profile: %w", err), file.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		_ = file.Close() // a profile that is cut short says so when it is read
		if allocs, err := os.Create(strings.TrimSuffix(file.Name(), ".pprof") + "-allocs.pprof"); err == nil {
			_ = pprof.Lookup("allocs").WriteTo(allocs, 0) // of everything this process has run so far
			_ = allocs.Close()                            // see above
		}
	}, nil
}
