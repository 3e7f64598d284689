package app

import (
	"context"
	"fmt"
	"net/http"

	"go.opentelemetry.io/otel/trace"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/auth"
	"github.com/pawl-run/pawl/dashboard"
	"github.com/pawl-run/pawl/executor"
	"github.com/pawl-run/pawl/httpapi"
	"github.com/pawl-run/pawl/internal/config"
	"github.com/pawl-run/pawl/internal/telemetry"
	"github.com/pawl-run/pawl/internal/version"
	"github.com/pawl-run/pawl/link"
)

// apiConnections is how many connections the API's pool holds for requests; streams share one subscription.
const apiConnections = 50

// RunAPI serves the API until ctx ends.
func RunAPI(ctx context.Context, cfg config.API, deps Deps) error {
	deps = deps.withDefaults()
	if err := requireLoopback(cfg.Addr, cfg.Auth); err != nil {
		return err
	}
	catalog, err := deps.agents(cfg.AgentsFile)
	if err != nil {
		return err
	}
	b, err := newBase(ctx, redisConfig{
		url: cfg.RedisURL.Reveal(), strict: cfg.Strict, concurrency: apiConnections, program: "api",
	}, cfg.Journal, deps)
	if err != nil {
		return err
	}
	defer b.close(context.WithoutCancel(ctx), deps.Logger)
	return serveAPI(ctx, b, catalog, cfg, deps)
}

// serveAPI serves the API on its base until ctx ends.
func serveAPI(ctx context.Context, b *base, catalog *agents, cfg config.API, deps Deps) error {
	access, err := newAccess(ctx, b.rdb, cfg.Auth, deps.Logger)
	if err != nil {
		return err
	}
	metrics := deps.measures("api")
	metrics.Installation(installation(b, deps.Logger))
	tracing, err := deps.tracing(ctx, "api")
	if err != nil {
		return err
	}
	defer tracing.Close(ctx, deps.Logger)
	server, tell, err := newServer(b, catalog, access.gate, metrics, tracing.Tracer(), cfg, deps)
	if err != nil {
		return err
	}
	side := &admin{program: "api", rdb: b.rdb, facts: b.facts, metrics: metrics.Handler()}
	listener := deps.Listener
	if listener == nil {
		if listener, err = listen(ctx, "PAWL_HTTP_ADDR", cfg.Addr); err != nil {
			return err
		}
	}
	deps.Logger.InfoContext(ctx, "serving the API", "addr", listener.Addr().String(), "agents", catalog.Names())
	tellPublished(ctx, deps.Logger, catalog, cfg.Published)
	return together(ctx,
		func(ctx context.Context) error {
			return serve(ctx, listener, deps.mount(server), server.Drain, deps.Logger)
		},
		func(ctx context.Context) error { return catalog.watch(ctx, deps.Again) },
		access.run,
		tell,
		func(ctx context.Context) error { return side.run(ctx, cfg.AdminAddr, deps.Logger) },
	)
}

func newService(b *base, catalog link.Catalog, cfg config.API, deps Deps) (*link.Service, error) {
	broker, err := newBroker(b.rdb, cfg.Delegation, deps.Logger)
	if err != nil {
		return nil, err
	}
	return link.New(link.Config{
		Journal: b.store, Catalog: catalog, Enqueuer: b.tasks, Queues: b.tasks, Broker: linkBroker(broker), MaxOpen: cfg.MaxOpen,
		Opening: executor.Opening, Boundary: executor.Boundary, Message: executor.Message, Call: executor.LedgerCall,
		Forking: executor.Forking, Trace: executor.Traced, Validate: validateRoot, RemoteTask: executor.RemoteTask,
		Logger: deps.Logger,
	})
}

func newServer(
	b *base, catalog link.Catalog, gate *auth.Gate,
	metrics *telemetry.Metrics, tracer trace.Tracer, cfg config.API, deps Deps,
) (server *httpapi.Server, tell func(context.Context) error, err error) {
	service, err := newService(b, catalog, cfg, deps)
	if err != nil {
		return nil, nil, err
	}
	face, tell, err := newFace(b, service, catalog, cfg, deps)
	if err != nil {
		return nil, nil, err
	}
	// Without keys everybody is an operator of executions, but the queues are only to be looked at.
	monitoring, err := dashboard.Monitoring(dashboard.MonitoringConfig{
		Redis: b.rdb, MayChange: func(r *http.Request) bool { return auth.From(r.Context()).Tends() },
		Executions: "/dashboard/executions/", Home: "/dashboard/",
	})
	if err != nil {
		return nil, nil, err
	}
	pages, err := newPages(b, service, gate, deps)
	if err != nil {
		return nil, nil, err
	}
	server, err = httpapi.New(httpapi.Config{
		Link: service, Access: gate, Origins: cfg.CORSOrigins, Monitoring: monitoring, Dashboard: pages, Face: face,
		Metrics: metrics.Handler(), Observer: metrics.Requests(), Tracer: tracer,
		MaxBody: int64(cfg.MaxBody), MaxStreams: cfg.MaxStreams, Version: version.Read().Version, Logger: deps.Logger,
		Ready: func(ctx context.Context) (httpapi.Readiness, error) {
			readiness := httpapi.Readiness{Redis: b.facts, Durability: durability(b.facts)}
			return readiness, b.rdb.Ping(ctx).Err()
		},
	})
	return server, tell, err
}

// catalog is the given one, or that of the agents' file.
func (d Deps) catalog(file string) (*agent.Catalog, error) {
	if d.Catalog != nil {
		return d.Catalog, nil
	}
	catalog, err := agent.Load(file)
	if err != nil {
		return nil, fmt.Errorf("PAWL_AGENTS: %w", err)
	}
	return catalog, nil
}

// mount puts the handlers that the process adds beside the API.
func (d Deps) mount(api http.Handler) http.Handler {
	if len(d.Extra) == 0 {
		return api
	}
	mux := http.NewServeMux()
	mux.Handle("/", api)
	for pattern, handler := range d.Extra {
		mux.Handle(pattern, handler)
	}
	return mux
}
