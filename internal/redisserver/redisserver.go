// Package redisserver runs a redis-server as a child of this process.
package redisserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	startTimeout = 15 * time.Second
	stopTimeout  = 10 * time.Second
	lookInterval = 10 * time.Millisecond
)

// Server is a redis-server on a loopback port.
type Server struct {
	addr string
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
	err  error         // how it ended; read behind done
}

// Start starts the program at path with its data in dir, and waits until it answers. Settings come behind its own: the
// loopback, no daemon, no eviction, no snapshots, and a log in dir.
func Start(ctx context.Context, path, dir string, settings ...string) (*Server, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	logFile, err := filepath.Abs(filepath.Join(dir, "redis.log"))
	if err != nil {
		return nil, fmt.Errorf("log of redis-server: %w", err)
	}
	s := &Server{addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), done: make(chan struct{})}
	s.cmd = exec.Command(path, append([]string{
		"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--maxmemory-policy", "noeviction",
		"--daemonize", "no", "--logfile", logFile,
	}, settings...)...)
	s.cmd.SysProcAttr = childAttributes()
	started := make(chan error, 1)
	go s.supervise(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	if err := s.awaitReady(ctx); err != nil {
		s.Stop()
		return nil, fmt.Errorf("redis-server does not come up (its log is %s): %w", logFile, err)
	}
	return s, nil
}

// Addr is host:port.
func (s *Server) Addr() string { return s.addr }

// Done is closed when the process has ended; Err then says how.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err is how the process ended; nil while it runs.
func (s *Server) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// Stop ends the process in order, so that what was written is on disk, and waits for it.
func (s *Server) Stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	select {
	case <-s.done:
	case <-timer.C:
		_ = s.cmd.Process.Kill() // see above
		<-s.done
	}
}

// supervise starts the process and waits for its end. It keeps its thread all the while: on Linux the child is told to end
// when the thread that started it does, so that it never outlives a program that was killed.
func (s *Server) supervise(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(s.done)
	err := s.cmd.Start()
	started <- err
	if err == nil {
		s.err = s.cmd.Wait()
	}
}

func (s *Server) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	rdb := redis.NewClient(&redis.Options{Addr: s.addr, MaxRetries: -1, DialerRetries: 1})
	defer func() { _ = rdb.Close() }() // only asked for its pong
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	for {
		err := s.pong(ctx, rdb)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-s.done:
			return errors.New("it ended at once")
		case <-tick.C:
		}
	}
}

// pong asks whether the server answers; whether its port opens is asked first, because a client that cannot connect logs.
func (s *Server) pong(ctx context.Context, rdb *redis.Client) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", s.addr)
	if err != nil {
		return err
	}
	_ = conn.Close() // it was only to see whether it opens
	return rdb.Ping(ctx).Err()
}

func freePort(ctx context.Context) (int, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	port := listener.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // a TCP listener
	return port, listener.Close()
}
