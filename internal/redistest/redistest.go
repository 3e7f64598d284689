// Package redistest gives tests a real redis-server: one shared by a package's tests, and private ones that a test may
// kill and restart. Its absence fails the test; it never skips.
package redistest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const startTimeout = 30 * time.Second

// Server is a redis-server process on a loopback port. Its data survives Kill and Start.
type Server struct {
	addr   string
	dir    string
	args   []string
	config string // of a Sentinel, which keeps in a file what it knows and takes no arguments

	mu  sync.Mutex
	cmd *exec.Cmd
}

// Addr is host:port.
func (s *Server) Addr() string { return s.addr }

// URL is the server's redis:// URL.
func (s *Server) URL() string { return "redis://" + s.addr }

// PID is the process id of the server; 0 when it does not run.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return 0
	}
	return s.cmd.Process.Pid
}

// Start starts a private server with the given extra arguments, for example "--appendonly", "yes". It ends with the test.
func Start(tb testing.TB, args ...string) *Server {
	tb.Helper()
	server, err := newServer(tb.TempDir(), args)
	if err != nil {
		tb.Fatalf("redistest: %v", err)
	}
	tb.Cleanup(server.Kill)
	return server
}

// Client is a client of the server, closed with the test. It waits longer for an answer than go-redis does unless it is told:
// on a busy machine an answer of a few megabytes takes longer than that now and then.
func (s *Server) Client(tb testing.TB) *redis.Client {
	tb.Helper()
	client := redis.NewClient(&redis.Options{
		Addr: s.addr, DialTimeout: startTimeout, ReadTimeout: startTimeout, WriteTimeout: startTimeout, PoolTimeout: startTimeout,
	})
	tb.Cleanup(func() { _ = client.Close() }) // the test is over: nobody waits for the error
	return client
}

// Kill ends the process with SIGKILL and waits for it.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill() // it may have ended by itself
	_ = s.cmd.Wait()         // killed: the error says so
	s.cmd = nil
}

// Pause stops the process with SIGSTOP until Resume.
func (s *Server) Pause() { s.signal(stop) }

// Resume goes on after Pause.
func (s *Server) Resume() { s.signal(goOn) }

func (s *Server) signal(sig os.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd != nil {
		_ = s.cmd.Process.Signal(sig) // it may have ended by itself
	}
}

// Restart starts the process again on the same port with the same data, after Kill.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	if err := s.start(); err != nil {
		tb.Fatalf("redistest: %v", err)
	}
}

func newServer(dir string, args []string) (*Server, error) {
	var err error
	for range 5 { // the free port may be taken between look and use
		var port int
		if port, err = freePort(); err != nil {
			return nil, err
		}
		server := &Server{addr: fmt.Sprintf("127.0.0.1:%d", port), dir: dir, args: args}
		if err = server.start(); err == nil {
			return server, nil
		}
	}
	return nil, err
}

func (s *Server) start() error {
	path, err := Program()
	if err != nil {
		return err
	}
	args, err := s.arguments()
	if err != nil {
		return err
	}
	cmd := exec.Command(path, args...)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start redis-server: %w", err)
	}
	s.mu.Lock()
	s.cmd = cmd
	s.mu.Unlock()
	if err := s.ready(); err != nil {
		s.Kill()
		return err
	}
	return nil
}

func (s *Server) arguments() ([]string, error) {
	if s.config != "" {
		return []string{s.config, "--sentinel"}, nil
	}
	_, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		return nil, fmt.Errorf("address of redis-server: %w", err)
	}
	return append([]string{
		"--port", port, "--bind", "127.0.0.1", "--dir", s.dir, "--save", "", "--appendonly", "no",
		"--maxmemory-policy", "noeviction", "--loglevel", "warning", "--logfile", filepath.Join(s.dir, "redis.log"),
	}, s.args...), nil
}

func (s *Server) ready() error {
	client := redis.NewClient(&redis.Options{Addr: s.addr, MaxRetries: -1})
	defer func() { _ = client.Close() }() // only asked for its pong
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		err := client.Ping(ctx).Err()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("redis-server on %s is not ready: %w", s.addr, err)
		case <-tick.C:
		}
	}
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	return port, listener.Close()
}

// shared is the server of the package under test.
var shared struct {
	once   sync.Once
	server *Server
	dir    string
	err    error
}

// Main runs the tests of a package and ends the shared server after them:
//
//	func TestMain(m *testing.M) { redistest.Main(m) }
//
// checks run after the tests and before the exit; a non-nil error fails the run (goleak, for example).
func Main(m *testing.M, checks ...func() error) {
	code := m.Run()
	if shared.server != nil {
		shared.server.Kill()
	}
	if shared.dir != "" {
		_ = os.RemoveAll(shared.dir) // a temporary folder
	}
	for _, check := range checks {
		if err := check(); err != nil && code == 0 {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// Shared is the server that the package's tests share; the package's TestMain must call Main. Use a random Prefix.
func Shared(tb testing.TB) *Server {
	tb.Helper()
	shared.once.Do(func() {
		if shared.dir, shared.err = os.MkdirTemp("", "redistest"); shared.err == nil {
			shared.server, shared.err = newServer(shared.dir, nil)
		}
	})
	if shared.err != nil {
		tb.Fatalf("redistest: %v", shared.err)
	}
	return shared.server
}

// Prefix is a random key prefix, so that tests share a server without meeting.
func Prefix() string { return "t" + strings.ToLower(rand.Text()[:10]) }
