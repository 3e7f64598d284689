package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/internal/redisconn"
	"github.com/pawl-run/pawl/internal/version"
)

const (
	pingTimeout     = time.Second
	headerTimeout   = 10 * time.Second
	idleTimeout     = 2 * time.Minute // of a connection between two requests
	shutdownTimeout = 10 * time.Second
)

// admin is the small server beside a program's work: livez, readyz and metrics, for whoever can reach its address.
type admin struct {
	program string
	rdb     redis.UniversalClient
	facts   redisconn.Facts
	metrics http.Handler // nil: none are served
	// stopping is set when the program begins to stop: from then on it is not ready.
	stopping atomic.Bool
}

// handler serves /livez (the process answers), /readyz (it works, and Redis answers) and /metrics.
func (a *admin) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, http.StatusOK, map[string]string{"status": "alive"})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		state := readiness(r.Context(), a.rdb, a.facts)
		state.Program = a.program
		if a.stopping.Load() {
			state.Ready, state.Reason = false, "stopping"
		}
		answerJSON(w, state.status(), state)
	})
	if a.metrics != nil {
		mux.Handle("GET /metrics", a.metrics)
	}
	return mux
}

// Readiness is what /readyz says.
type Readiness struct {
	Ready   bool            `json:"ready"`
	Program string          `json:"program"`
	Version string          `json:"version"`
	Reason  string          `json:"reason,omitempty"` // why it is not ready
	Redis   redisconn.Facts `json:"redis"`
}

func (r Readiness) status() int {
	if r.Ready {
		return http.StatusOK
	}
	return http.StatusServiceUnavailable
}

// readiness asks Redis for a sign of life.
func readiness(ctx context.Context, rdb redis.UniversalClient, facts redisconn.Facts) Readiness {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	state := Readiness{Ready: true, Version: version.Read().Version, Redis: facts}
	if err := rdb.Ping(ctx).Err(); err != nil {
		state.Ready, state.Reason = false, "redis does not answer"
	}
	return state
}

func answerJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a caller that hung up needs no answer
}

// serve serves handler on addr until ctx ends. Requests then get a moment to finish; ended is called first, so that
// streams can be told.
func serve(ctx context.Context, listener net.Listener, handler http.Handler, ended func(), logger *slog.Logger) error {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout,
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	ended()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		logger.WarnContext(ctx, "requests were cut off", "error", err)
		return errors.Join(server.Close())
	}
	return nil
}

// listen opens the address, with an error that says what to do about a busy port.
func listen(ctx context.Context, name, addr string) (net.Listener, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", addr)
	if err != nil {
		hint := ""
		if errors.Is(err, syscall.EADDRINUSE) {
			hint = "stop the program that uses it, or "
			err = syscall.EADDRINUSE // its way here only says the address again
		}
		return nil, fmt.Errorf("cannot listen on %s: %w: %sset %s to another address", addr, err, hint, name)
	}
	return listener, nil
}

// run serves a on addr until ctx ends; an empty addr serves nothing.
func (a *admin) run(ctx context.Context, addr string, logger *slog.Logger) error {
	if addr == "" {
		return idle(ctx)
	}
	listener, err := listen(ctx, "PAWL_ADMIN_ADDR", addr)
	if err != nil {
		return err
	}
	logger.InfoContext(ctx, "serving livez, readyz and metrics", "addr", listener.Addr().String())
	return serve(ctx, listener, a.handler(), func() {}, logger)
}
