package app

import (
	"context"
	"log/slog"
	"net"
	"net/http"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/telemetry"
	"github.com/pawl-run/pawl/internal/version"
	"github.com/pawl-run/pawl/queue"
)

// Deps are what the programs of one process may share. The zero value works.
type Deps struct {
	// Logger takes what the program has to say. Default slog.Default().
	Logger *slog.Logger
	// NoChecks starts on a Redis that would not pass the boot checks: the embedded one of `pawl dev`.
	NoChecks bool
	// RedisTold says that another program of the process reports what was found out about Redis.
	RedisTold bool
	// Waker joins the API, the worker and the reaper of one process, so that what one enqueues wakes the other without a
	// round trip. Default: none is shared, and wake-ups travel through Redis.
	Waker *queue.Waker
	// Catalog takes the place of the agents' file.
	Catalog *agent.Catalog
	// Again asks the program, message by message, to read its agents' file again. Nil: nobody asks.
	Again <-chan struct{}
	// Listener takes the place of the API's address.
	Listener net.Listener
	// Metrics joins the measurements of the programs of one process. Default: each program has its own.
	Metrics *telemetry.Metrics
	// Extra are handlers that are served beside the API, by pattern.
	Extra map[string]http.Handler
}

func (d Deps) withDefaults() Deps {
	if d.Logger == nil {
		d.Logger = slog.Default()
	}
	return d
}

// measures are the measurements of the program.
func (d Deps) measures(program string) *telemetry.Metrics {
	if d.Metrics != nil {
		return d.Metrics
	}
	return telemetry.New(program, version.Read().Version)
}

// tracing makes the spans of the program.
func (d Deps) tracing(ctx context.Context, program string) (*telemetry.Tracing, error) {
	return telemetry.NewTracing(ctx, program, version.Read().Version)
}
