package harness

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/internal/redistest"
)

const readyTimeout = 30 * time.Second

// Config says what a Stack runs on. The zero value is what the acceptance tests use: programs with fault points, claim
// TTL 2 s, grace 1 s, reap interval 1 s.
type Config struct {
	ClaimTTL     time.Duration     // default 2s
	Grace        time.Duration     // default 1s
	ReapInterval time.Duration     // default 1s
	Redis        []string          // extra arguments of redis-server
	Env          map[string]string // of every program
	Agents       string            // agents.yaml
	Tag          string            // build tag of the programs; "none" for the shipped ones, default FaultTag
}

func (c Config) withDefaults() Config {
	for _, d := range []struct {
		value *time.Duration
		def   time.Duration
	}{{&c.ClaimTTL, 2 * time.Second}, {&c.Grace, time.Second}, {&c.ReapInterval, time.Second}} {
		if *d.value == 0 {
			*d.value = d.def
		}
	}
	switch c.Tag {
	case "":
		c.Tag = FaultTag
	case "none":
		c.Tag = ""
	}
	return c
}

// Stack is an installation of Pawl: a redis-server and the programs that work on it.
type Stack struct {
	Config Config
	Server *redistest.Server // nil of a stack that On made
	Redis  redis.UniversalClient

	tb     testing.TB
	url    string
	bin    string
	agents string
	home   string
	names  *names

	processes *processes
}

// names numbers the processes of a stack.
type names struct {
	mu    sync.Mutex
	count map[string]int
}

func (n *names) next(program string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.count[program]++
	return fmt.Sprintf("%s %d", program, n.count[program])
}

// New starts a redis-server and writes the agents file. Programs are started by API, Worker and Reaper.
func New(tb testing.TB, cfg Config) *Stack {
	tb.Helper()
	server := redistest.Start(tb, cfg.Redis...)
	stack := On(tb, cfg, server.URL(), server.Client(tb))
	stack.Server, stack.processes.server = server, server
	return stack
}

// On is a stack on the Redis of the URL, which the test started and to which rdb speaks.
func On(tb testing.TB, cfg Config, url string, rdb redis.UniversalClient) *Stack {
	tb.Helper()
	cfg = cfg.withDefaults()
	home := tb.TempDir()
	agents := filepath.Join(home, "agents.yaml")
	if err := os.WriteFile(agents, []byte(cfg.Agents), 0o600); err != nil {
		tb.Fatalf("write agents: %v", err)
	}
	return &Stack{
		Config: cfg, Redis: rdb,
		tb: tb, url: url, bin: Programs(tb, cfg.Tag), agents: agents, home: home, names: &names{count: map[string]int{}},
		processes: &processes{},
	}
}

// Home is the folder in which the programs run.
func (s *Stack) Home() string { return s.home }

// WriteAgents puts another text in place of the agents file.
func (s *Stack) WriteAgents(text string) {
	s.tb.Helper()
	if err := os.WriteFile(s.agents, []byte(text), 0o600); err != nil {
		s.tb.Fatalf("write agents: %v", err)
	}
}

// For is the same stack for a subtest: what it starts and what fails belongs to tb.
func (s *Stack) For(tb testing.TB) *Stack {
	tb.Helper()
	sub := *s
	sub.tb = tb
	return &sub
}

// Bound is how long after a worker's death the next claim may take: max(TTL, grace) + reap interval + 1 s.
func (s *Stack) Bound() time.Duration {
	return max(s.Config.ClaimTTL, s.Config.Grace) + s.Config.ReapInterval + time.Second
}

// NodesPerTask is the setting under which this run of the tests starts its workers, from PAWL_TEST_NODES_PER_TASK; empty:
// the shipped one.
func NodesPerTask() string { return os.Getenv("PAWL_TEST_NODES_PER_TASK") }

// Environment is the environment of a program, extra names last.
func (s *Stack) Environment(extra map[string]string) []string {
	env := map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": s.home,
		"PAWL_REDIS_URL":     s.url,
		"PAWL_AGENTS":        s.agents,
		"PAWL_CLAIM_TTL":     s.Config.ClaimTTL.String(),
		"PAWL_HANDOFF_GRACE": s.Config.Grace.String(),
		"PAWL_REAP_INTERVAL": s.Config.ReapInterval.String(),
		"PAWL_LOG_FORMAT":    "json",
		"PAWL_LOG_LEVEL":     "info",
	}
	if nodes := NodesPerTask(); nodes != "" {
		env["PAWL_NODES_PER_TASK"] = nodes
	}
	maps.Copy(env, s.Config.Env)
	maps.Copy(env, extra)
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}

// AtFault is the environment of a program that kills itself at the fault point.
func AtFault(point string) map[string]string { return map[string]string{"PAWL_FAULTPOINT": point} }

// Worker starts a worker and waits until it is ready.
func (s *Stack) Worker(extra ...map[string]string) *Process { return s.background("worker", extra) }

// Doomed starts a worker that kills itself at the fault point, and does not wait until it is ready: it may be dead by then.
func (s *Stack) Doomed(point string) *Process {
	s.tb.Helper()
	return s.start("worker", AtFault(point))
}

// Reaper starts a reaper and waits until it is ready.
func (s *Stack) Reaper(extra ...map[string]string) *Process { return s.background("reaper", extra) }

func (s *Stack) background(program string, extra []map[string]string) *Process {
	s.tb.Helper()
	env := map[string]string{"PAWL_ADMIN_ADDR": FreeAddr(s.tb)}
	for _, more := range extra {
		maps.Copy(env, more)
	}
	p := s.start(program, env)
	awaitReady(s.tb, p, "http://"+env["PAWL_ADMIN_ADDR"], readyTimeout)
	return p
}

// API starts an API and waits until it is ready.
func (s *Stack) API(extra ...map[string]string) *API {
	s.tb.Helper()
	env := map[string]string{"PAWL_HTTP_ADDR": FreeAddr(s.tb)}
	for _, more := range extra {
		maps.Copy(env, more)
	}
	return Attach(s.tb, s.start("api", env), env["PAWL_HTTP_ADDR"], readyTimeout)
}

func (s *Stack) start(program string, env map[string]string) *Process {
	s.tb.Helper()
	process := Run(s.tb, s.names.next(program), s.home, filepath.Join(s.bin, program), s.Environment(env))
	s.processes.add(process)
	return process
}

// Attach is a client of the API that a process serves at addr. It waits until the API is ready.
func Attach(tb testing.TB, p *Process, addr string, timeout time.Duration) *API {
	tb.Helper()
	api := &API{Process: p, URL: "http://" + addr, tb: tb}
	awaitReady(tb, p, api.URL, timeout)
	return api
}

// awaitReady waits until readyz answers 200.
func awaitReady(tb testing.TB, p *Process, url string, timeout time.Duration) {
	tb.Helper()
	client := &http.Client{Timeout: time.Second}
	Eventually(tb, timeout, p.Name+" is ready", func() bool {
		if !p.Running() {
			tb.Fatalf("%s ended while it started", p.Name)
		}
		response, err := client.Get(url + "/readyz")
		if err != nil {
			return false
		}
		_ = response.Body.Close() // only its status matters
		return response.StatusCode == http.StatusOK
	})
}
