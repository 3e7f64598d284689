package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/config"
	"github.com/pawl-run/pawl/internal/telemetry"
	"github.com/pawl-run/pawl/internal/version"
	"github.com/pawl-run/pawl/queue"
)

// Started is what `pawl dev` tells whoever started it.
type Started struct {
	URL    string // of the API
	Redis  string // what it stands on
	Agents []string
	// Key is an API key that was made because there was none and PAWL_AUTH asks for one; empty: none was made.
	Key config.Secret
	// KeysIn is the Redis that holds the keys, when PAWL_AUTH asks for one and there are some already.
	KeysIn config.Secret
}

// RunDev runs API, worker and reaper in one process, on a Redis of its own if the environment names none. started is
// called when the API listens. It stops in the order API, worker, reaper, Redis.
func RunDev(ctx context.Context, cfg config.Dev, deps Deps, started func(Started)) error {
	deps = deps.withDefaults()
	if err := requireLoopback(cfg.Addr, cfg.Auth); err != nil {
		return err
	}
	listener, err := listen(ctx, "PAWL_HTTP_ADDR", cfg.Addr)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // closed already when the API has stopped in order
	if deps.Catalog, err = devCatalog(cfg, listener.Addr().String()); err != nil {
		return err
	}
	store, err := openDevRedis(ctx, cfg.DevStore, deps.Logger)
	if err != nil {
		return err
	}
	defer store.stop()
	deps.Listener, deps.NoChecks, deps.Waker = listener, store.embedded, &queue.Waker{}
	deps.Metrics = telemetry.New("dev", version.Read().Version)
	deps.Extra = map[string]http.Handler{"POST " + demoPath: http.HandlerFunc(demoLookup)}
	about := Started{URL: "http://" + listener.Addr().String(), Redis: store.about, Agents: deps.Catalog.Names()}
	if err := about.withKey(ctx, cfg.Auth, store.url); err != nil {
		return err
	}
	started(about)
	return runThree(ctx, cfg, deps, store)
}

// devCatalog is the agents of the environment, else the demo agent.
func devCatalog(cfg config.Dev, addr string) (*agent.Catalog, error) {
	if cfg.AgentsFile != "" {
		return Deps{}.catalog(cfg.AgentsFile)
	}
	catalog, err := agent.Parse("demo agents", DemoAgents(addr))
	if err != nil {
		return nil, fmt.Errorf("the built-in agents: %w", err)
	}
	return catalog, nil
}

// runThree runs the three programs until ctx ends or one of them does, and stops them one after the other: nothing is
// submitted any more when the worker drains, and what it hands back is swept to the last.
func runThree(ctx context.Context, cfg config.Dev, deps Deps, store *devRedis) error {
	base := config.Store{RedisURL: config.Secret(store.url), Strict: cfg.Strict}
	named := func(name string) Deps {
		own := deps
		own.Logger = deps.Logger.With("program", name)
		own.RedisTold = name != "api"
		if name != "api" { // which alone has the agents
			own.Again = nil
		}
		return own
	}
	reaper := config.Reaper{Store: base, Log: cfg.Log, Journal: cfg.Journal, Delegation: cfg.Delegation, Reap: cfg.Reap}
	worker := config.Worker{Store: base, Log: cfg.Log, Journal: cfg.Journal, Delegation: cfg.Delegation, Work: cfg.Work}
	api := config.API{
		Store: base, Log: cfg.Log, Journal: cfg.Journal, HTTP: cfg.HTTP, Auth: cfg.Auth, Delegation: cfg.Delegation, Face: cfg.Face,
		Agents: config.Agents{AgentsFile: cfg.AgentsFile},
	}
	return inOrder(
		ctx,
		func(ctx context.Context) error { return RunAPI(ctx, api, named("api")) },
		func(ctx context.Context) error { return RunWorker(ctx, worker, named("worker")) },
		func(ctx context.Context) error { return RunReaper(ctx, reaper, named("reaper")) },
		func(ctx context.Context) error { return watchRedis(ctx, store, deps.Logger) },
	)
}

// watchRedis ends everything when a redis-server of our own ends by itself: nothing goes on without it.
func watchRedis(ctx context.Context, store *devRedis, logger *slog.Logger) error {
	select {
	case <-ctx.Done():
		return nil
	case <-store.ended: // nil, and never ready, when the Redis is not ours
		logger.ErrorContext(ctx, "the redis-server of this program has ended")
		return errors.New("redis-server ended by itself: see redis.log in PAWL_DATA_DIR")
	}
}

// inOrder runs the tasks until ctx ends or one of them returns, and then ends them one after the other, the first one
// first. The error joins theirs.
func inOrder(ctx context.Context, tasks ...task) error {
	type running struct {
		end  context.CancelFunc
		done chan struct{}
		err  error
	}
	first := make(chan struct{}, len(tasks))
	all := make([]*running, len(tasks))
	for i, run := range tasks {
		own, end := context.WithCancel(context.WithoutCancel(ctx))
		r := &running{end: end, done: make(chan struct{})}
		all[i] = r
		go func() {
			defer close(r.done)
			r.err = run(own)
			first <- struct{}{}
		}()
	}
	select {
	case <-ctx.Done():
	case <-first:
	}
	var errs []error
	for _, r := range all {
		r.end()
		<-r.done
		if !errors.Is(r.err, context.Canceled) { // it was told to end: no error, and it must not hide another's
			errs = append(errs, r.err)
		}
	}
	return errors.Join(errs...)
}
