package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
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
)

// redisServer is a redis-server of our own with its data in a temporary folder.
type redisServer struct {
	addr, dir string
	cmd       *exec.Cmd
	done      chan struct{} // closed when the process has ended
}

// startServer starts a redis-server with the given settings beside ours.
func startServer(ctx context.Context, settings ...string) (*redisServer, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("bench: a redis-server is needed: install one (it is looked for on PATH), or name an empty one with --redis: %w", err)
	}
	dir, err := os.MkdirTemp("", "pawl-bench")
	if err != nil {
		return nil, fmt.Errorf("bench: folder for redis-server: %w", err)
	}
	s := &redisServer{dir: dir, done: make(chan struct{})}
	if err := s.start(ctx, path, settings); err != nil {
		return nil, errors.Join(fmt.Errorf("bench: start redis-server: %w", err), os.RemoveAll(dir))
	}
	return s, nil
}

func (s *redisServer) start(ctx context.Context, path string, settings []string) error {
	port, err := freePort(ctx)
	if err != nil {
		return err
	}
	s.addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	args := append([]string{
		"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", s.dir, "--save", "", "--appendonly", "no",
		"--maxmemory-policy", "noeviction", "--auto-aof-rewrite-percentage", "0", "--daemonize", "no",
		"--loglevel", "warning", "--logfile", filepath.Join(s.dir, "redis.log"),
	}, settings...)
	s.cmd = exec.Command(path, args...)
	s.cmd.SysProcAttr = childAttributes()
	started := make(chan error, 1)
	go s.supervise(started)
	if err := <-started; err != nil {
		return err
	}
	if err := s.awaitReady(ctx); err != nil {
		s.stop()
		return err
	}
	return nil
}

// supervise keeps the thread that started the child: on Linux the child ends with it.
func (s *redisServer) supervise(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(s.done)
	err := s.cmd.Start()
	started <- err
	if err == nil {
		_ = s.cmd.Wait() // we ended it
	}
}

func (s *redisServer) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	rdb := redis.NewClient(&redis.Options{Addr: s.addr, MaxRetries: -1, DialerRetries: 1})
	defer func() { _ = rdb.Close() }() // only asked for its pong
	var dialer net.Dialer
	return poll(ctx, 10*time.Millisecond, func() (bool, error) {
		select {
		case <-s.done:
			return false, errors.New("it ended at once")
		default:
			conn, err := dialer.DialContext(ctx, "tcp", s.addr) // quieter than a client that cannot connect
			if err != nil {
				return false, nil //nolint:nilerr // not yet
			}
			_ = conn.Close() // it was only to see whether it opens
			return rdb.Ping(ctx).Err() == nil, nil
		}
	})
}

// stop ends the process and removes its data.
func (s *redisServer) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	select {
	case <-s.done:
	case <-timer.C:
		_ = s.cmd.Process.Kill() // see above
		<-s.done
	}
	_ = os.RemoveAll(s.dir) // a temporary folder
}

// host is the address in two parts.
func (s *redisServer) host() (host, port string) {
	host, port, _ = net.SplitHostPort(s.addr) // ours
	return host, port
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
