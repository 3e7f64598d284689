package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/pawl-run/pawl/internal/redisserver"
)

// startTimeout bounds how long servers take to be ready for work.
const startTimeout = 15 * time.Second

// redisServer is a redis-server of our own with its data in a temporary folder.
type redisServer struct {
	addr, dir string
	server    *redisserver.Server
}

// startServer starts a redis-server with the given settings beside ours.
func startServer(ctx context.Context, settings ...string) (*redisServer, error) {
	path, err := redisserver.Find()
	if err != nil {
		return nil, fmt.Errorf("bench: a redis-server is needed: install one (it is looked for on PATH), or name an empty one with --redis: %w", err)
	}
	dir, err := os.MkdirTemp("", "pawl-bench")
	if err != nil {
		return nil, fmt.Errorf("bench: folder for redis-server: %w", err)
	}
	server, err := redisserver.Start(ctx, path, dir, append([]string{
		"--appendonly", "no", "--auto-aof-rewrite-percentage", "0", "--loglevel", "warning",
	}, settings...)...)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("bench: %w", err), os.RemoveAll(dir))
	}
	return &redisServer{addr: server.Addr(), dir: dir, server: server}, nil
}

// stop ends the process and removes its data.
func (s *redisServer) stop() {
	s.server.Stop()
	_ = os.RemoveAll(s.dir) // a temporary folder
}

// host is the address in two parts.
func (s *redisServer) host() (host, port string) {
	host, port, _ = net.SplitHostPort(s.addr) // ours
	return host, port
}

// poll asks until the answer is yes, an error, or ctx ends.
func poll(ctx context.Context, every time.Duration, ask func() (bool, error)) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if yes, err := ask(); yes || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// wait lets d pass.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// StartRedis starts a redis-server of one's own on a loopback port, with its data in a temporary folder, and returns its URL.
// stop ends it and removes the data.
func StartRedis(ctx context.Context, settings ...string) (url string, stop func(), err error) {
	server, err := startServer(ctx, settings...)
	if err != nil {
		return "", nil, err
	}
	return "redis://" + server.addr, server.stop, nil
}
