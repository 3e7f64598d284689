package mcptool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
)

// Config bounds what all servers of a program may take. The zero value works.
type Config struct {
	// StartTimeout bounds the start of a server and the handshake with it; 60s by default, because a package runner may
	// have to fetch the server first.
	StartTimeout time.Duration
	// ListTimeout bounds the reading of the list of tools, and how long a call or a model request waits for a server that
	// is being opened; 10s by default.
	ListTimeout time.Duration
	// CloseTimeout bounds the polite part of a started server's end; 2s by default. Then it is killed.
	CloseTimeout time.Duration
	// KeepFor is how long the session of an execution with a server that is reached with tokens is kept between two steps of it that
	// follow each other at once; 1s by default.
	KeepFor time.Duration
	// MaxResult is the longest result in bytes of JSON; a longer one is refused. DefaultMaxResult by default.
	MaxResult int
	// MinBackOff and MaxBackOff bound the time between two attempts to open a server, which doubles; 500ms and 30s by
	// default.
	MinBackOff, MaxBackOff time.Duration
	// Version is the program's, which servers are told; "dev" by default.
	Version string
	// Logger is slog.Default() by default.
	Logger *slog.Logger
}

func (c Config) withDefaults() (Config, error) {
	for _, d := range []struct {
		name     string
		value    *time.Duration
		fallback time.Duration
	}{
		{"StartTimeout", &c.StartTimeout, time.Minute},
		{"ListTimeout", &c.ListTimeout, 10 * time.Second},
		{"CloseTimeout", &c.CloseTimeout, 2 * time.Second},
		{"KeepFor", &c.KeepFor, time.Second},
		{"MinBackOff", &c.MinBackOff, 500 * time.Millisecond},
		{"MaxBackOff", &c.MaxBackOff, 30 * time.Second},
	} {
		if *d.value < 0 {
			return c, fmt.Errorf("mcptool config: %s is negative", d.name)
		}
		if *d.value == 0 {
			*d.value = d.fallback
		}
	}
	if c.MaxResult < 0 {
		return c, fmt.Errorf("mcptool config: MaxResult is negative")
	}
	if c.MaxResult == 0 {
		c.MaxResult = DefaultMaxResult
	}
	if c.Version == "" {
		c.Version = "dev"
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c, nil
}

// Servers are the sessions with MCP servers that a program keeps, one for each way to reach a server.
type Servers struct {
	cfg Config // immutable

	mu     sync.Mutex
	closed bool                 // guarded by mu
	byKey  map[string]*server   // guarded by mu
	habits map[string]*habits   // guarded by mu; of addresses that are reached with tokens
	lent   map[*server]struct{} // guarded by mu; to claims, which reach them with tokens of their own
	idle   map[string]*idle     // guarded by mu; those of them that wait for the next claim of their execution
	ending sync.WaitGroup       // of what was lent
}

// NewServers makes an empty Servers. Close it.
func NewServers(cfg Config) (*Servers, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Servers{cfg: cfg, byKey: map[string]*server{}, habits: map[string]*habits{}, lent: map[*server]struct{}{}, idle: map[string]*idle{}}, nil
}

// Factory is the local.ToolFactory of type "mcp". It starts and asks nothing.
func (s *Servers) Factory(_ context.Context, _ *agent.Definition, declared agent.Tool, lookup local.Lookup) (local.Tool, error) {
	if declared.Auth == agent.AuthDelegation {
		return s.NewDelegated(declared, lookup)
	}
	return s.New(declared, lookup)
}

// New makes the tools of a declared server. Errors name the key and the variable, never a value.
func (s *Servers) New(declared agent.Tool, lookup local.Lookup) (*Set, error) {
	at, err := resolve(declared, lookup)
	if err != nil {
		return nil, err
	}
	return &Set{server: s.server(at, declared.Name), declared: declared, cfg: s.cfg}, nil
}

// Close ends all sessions and the servers that were started, and waits for them. Calls in flight fail.
func (s *Servers) Close() {
	s.mu.Lock()
	s.closed = true
	servers := make([]*server, 0, len(s.byKey))
	servers = slices.AppendSeq(servers, maps.Values(s.byKey))
	servers = slices.AppendSeq(servers, maps.Keys(s.lent))
	for _, waiting := range s.idle {
		waiting.over.Stop()
	}
	s.mu.Unlock()
	var wait sync.WaitGroup
	for _, server := range servers {
		wait.Go(server.close)
	}
	wait.Wait()
	s.ending.Wait()
}

func (s *Servers) server(at address, name string) *server {
	key := at.key()
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.byKey[key]; ok {
		return known
	}
	made := newServer(s.cfg, at, name)
	if s.closed {
		made.close()
	}
	s.byKey[key] = made
	return made
}

// address is how a server is reached, with its secrets.
type address struct {
	Command []string
	Env     map[string]string
	URL     string
	Headers map[string]string
}

// key names the address without showing it.
func (a address) key() string {
	text, err := json.Marshal(a)
	if err != nil {
		panic(err) // strings always encode
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func resolve(declared agent.Tool, lookup local.Lookup) (address, error) {
	at := address{Command: declared.Command}
	if len(declared.Command) == 0 {
		url, err := agent.Resolve(declared.URL, lookup)
		if err != nil {
			return at, fmt.Errorf("url: %w", err)
		}
		if problem := agent.CheckURL(url); problem != "" {
			return at, fmt.Errorf("url: %s", problem)
		}
		at.URL = url
	}
	var err error
	if at.Env, err = resolveAll("env", declared.Env, lookup); err != nil {
		return at, err
	}
	if at.Headers, err = resolveAll("headers", declared.Headers, lookup); err != nil {
		return at, err
	}
	for name, value := range at.Headers {
		if !agent.ValidHeaderValue(value) {
			return at, fmt.Errorf("headers.%s: must not hold line breaks or control characters", name)
		}
	}
	return at, nil
}

func resolveAll(key string, values map[string]string, lookup local.Lookup) (map[string]string, error) {
	resolved := make(map[string]string, len(values))
	for name, value := range values {
		text, err := agent.Resolve(value, lookup)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", key, name, err)
		}
		resolved[name] = text
	}
	return resolved, nil
}
