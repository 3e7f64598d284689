package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/gather"
)

// ErrStopped is the cause with which runners' contexts end when Shutdown has waited long enough, and the error of Start
// after Stop.
var ErrStopped = errors.New("the queue server has stopped")

// Server takes tasks from its queues and calls the Runner. A worker ends it in this order: Stop (no new task), then its
// runner drains, then Shutdown. Safe for concurrent use.
type Server struct {
	lanes []*lane // immutable
	stats *counters
	end   context.CancelCauseFunc

	mu      sync.Mutex
	started bool // guarded by mu
	stopped bool // guarded by mu
}

// NewServer makes a server on rdb, which it never closes. Beside short commands it holds one connection of rdb's pool per
// lane (its queues; the suspect queue) in a blocking pop while it waits.
func NewServer(rdb redis.UniversalClient, runner Runner, cfg ServerConfig) (*Server, error) {
	if rdb == nil || runner == nil {
		return nil, errors.New("queue: a Redis client and a runner are needed")
	}
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	if cfg.Gather == nil {
		cfg.Gather = gather.New(rdb)
	}
	ctx, end := context.WithCancelCause(context.Background())
	s := &Server{stats: &counters{}, end: end}
	if len(cfg.Queues) > 0 {
		s.lanes = append(s.lanes, newLane(ctx, rdb, runner, s.stats, cfg, cfg.Queues, cfg.Concurrency))
	}
	if !cfg.NoSuspect {
		suspect := map[string]int{execution.SuspectQueue: 1}
		s.lanes = append(s.lanes, newLane(ctx, rdb, runner, s.stats, cfg, suspect, 1))
	}
	return s, nil
}

// Stats is what the server has done so far.
func (s *Server) Stats() Stats { return s.stats.stats() }

// Start begins to take tasks. It does not wait for Redis: a server whose Redis is away begins when it comes. A server
// starts once; afterwards it returns an error, ErrStopped after Stop.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopped:
		return fmt.Errorf("start: %w", ErrStopped)
	case s.started:
		return errors.New("start: the queue server has started before")
	}
	s.started = true
	for _, l := range s.lanes {
		if err := l.start(); err != nil {
			return fmt.Errorf("start: %w", err)
		}
	}
	return nil
}

// Stop takes no more tasks; those taken go on. It returns when none will come any more. Repeating it is harmless.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
}

func (s *Server) stop() {
	if s.stopped {
		return
	}
	s.stopped = true
	if s.started {
		s.each((*lane).stop)
	}
}

// Shutdown stops, waits for the runners at most DrainTimeout, gives the tasks of those still at work to other workers,
// ends their contexts, and leaves. Repeating it is harmless.
func (s *Server) Shutdown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
	if s.started {
		s.each((*lane).shutdown)
	}
	s.end(ErrStopped)
	s.each((*lane).wait)
}

// Run starts, serves until ctx ends, and shuts down.
func (s *Server) Run(ctx context.Context) error {
	if err := s.Start(); err != nil {
		return err
	}
	<-ctx.Done()
	s.Shutdown()
	return nil
}

func (s *Server) each(do func(*lane)) {
	var all sync.WaitGroup
	for _, l := range s.lanes {
		all.Go(func() { do(l) })
	}
	all.Wait()
}

// lastWait is how long Shutdown waits for runners whose contexts it has ended.
const lastWait = 2 * time.Second
