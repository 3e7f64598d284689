package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	redisStartTimeout = 15 * time.Second
	redisStopTimeout  = 10 * time.Second
	addrFile          = "redis.addr"
	lockFile          = "lock"
)

// redisServer is a redis-server that runs as our child, with its data in dir.
type redisServer struct {
	path, dir, addr string
	logger          *slog.Logger
	cmd             *exec.Cmd
	done            chan struct{} // closed when the process has ended
}

// startRedisServer starts a redis-server with an append-only file in dir. The folder is ours alone until stop.
func startRedisServer(ctx context.Context, path, dir string, logger *slog.Logger) (*devRedis, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("PAWL_DATA_DIR: %w", err)
	}
	unlock, err := lockDir(filepath.Join(dir, lockFile))
	if err != nil {
		return nil, fmt.Errorf("PAWL_DATA_DIR: %s is used by another `pawl dev`: stop that one, or name another folder: %w",
			dir, err)
	}
	endLeftover(ctx, filepath.Join(dir, addrFile), logger)
	server := &redisServer{path: path, dir: dir, logger: logger}
	if err := server.start(ctx); err != nil {
		return nil, errors.Join(err, unlock())
	}
	return &devRedis{
		url: "redis://" + server.addr, ended: server.done,
		about: fmt.Sprintf("executions are kept in %s by a redis-server of its own (%s)", dir, server.addr),
		stop: func() {
			server.stop()
			if err := unlock(); err != nil {
				logger.Debug("unlock the data folder", "error", err)
			}
		},
	}, nil
}

func (s *redisServer) start(ctx context.Context) error {
	port, err := freePort(ctx)
	if err != nil {
		return err
	}
	s.addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	logFile := filepath.Join(s.dir, "redis.log")
	absolute, err := filepath.Abs(logFile)
	if err != nil {
		return fmt.Errorf("PAWL_DATA_DIR: %w", err)
	}
	s.cmd = exec.Command(s.path, "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", s.dir,
		"--appendonly", "yes", "--appendfsync", "everysec", "--save", "", "--maxmemory-policy", "noeviction",
		"--daemonize", "no", "--logfile", absolute)
	s.cmd.SysProcAttr = childAttributes()
	s.done = make(chan struct{})
	started := make(chan error, 1)
	go s.supervise(started)
	if err := <-started; err != nil {
		return fmt.Errorf("start %s: %w", s.path, err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, addrFile), []byte(s.addr+"\n"), 0o600); err != nil {
		s.stop()
		return fmt.Errorf("PAWL_DATA_DIR: %w", err)
	}
	if err := s.awaitReady(ctx); err != nil {
		s.stop()
		return fmt.Errorf("redis-server does not come up (its log is %s): %w", logFile, err)
	}
	return nil
}

// supervise starts the process and waits for its end. It keeps its thread all the while: on Linux the child is told to
// end when the thread that started it does, so that it never outlives a `pawl dev` that was killed.
func (s *redisServer) supervise(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(s.done)
	err := s.cmd.Start()
	started <- err
	if err == nil {
		if err := s.cmd.Wait(); err != nil {
			s.logger.Debug("redis-server ended", "error", err)
		}
	}
}

func (s *redisServer) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, redisStartTimeout)
	defer cancel()
	rdb := redis.NewClient(&redis.Options{Addr: s.addr, MaxRetries: -1, DialerRetries: 1})
	defer func() { _ = rdb.Close() }() // only asked for its pong
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := rdb.Ping(ctx).Err()
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

// stop ends the process in order, so that what was written is on disk.
func (s *redisServer) stop() {
	if s.cmd.Process == nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	select {
	case <-s.done:
	case <-time.After(redisStopTimeout):
		_ = s.cmd.Process.Kill() // see above
		<-s.done
	}
}

// endLeftover ends the redis-server of a `pawl dev` that was killed where children are not told: two servers must not
// write one append-only file. The lock on the folder says that nobody else uses it.
func endLeftover(ctx context.Context, file string, logger *slog.Logger) {
	text, err := os.ReadFile(file)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, redisStopTimeout)
	defer cancel()
	rdb := redis.NewClient(&redis.Options{Addr: strings.TrimSpace(string(text)), MaxRetries: -1, DialerRetries: 1})
	defer func() { _ = rdb.Close() }() // only used for a shutdown
	dir, err := rdb.ConfigGet(ctx, "dir").Result()
	if err != nil || !sameDir(dir["dir"], filepath.Dir(file)) {
		return // nobody there, or somebody else's by now
	}
	logger.WarnContext(ctx, "ending a redis-server that an earlier run left behind", "addr", strings.TrimSpace(string(text)))
	if err := rdb.Shutdown(ctx).Err(); err != nil {
		logger.DebugContext(ctx, "shut it down", "error", err)
	}
}

func sameDir(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

func freePort(ctx context.Context) (int, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	return port, listener.Close()
}
