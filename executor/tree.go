package executor

import (
	"context"
	"fmt"
	"sync"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
)

// tree is which definitions the agents of a tree of executions have: those of the roster that its root was stored with.
type tree struct {
	store Store
	hash  string            // of the roster; empty: the tree has one execution
	names map[string]string // the hashes of the agents' definitions

	mu   sync.Mutex
	kept map[string]*agent.Definition // guarded by mu
}

// tree reads the roster of that hash; without one there are no agents to be called. The error is the store's, or says that
// the roster cannot be read.
func (d *definitions) tree(ctx context.Context, hash string) (*tree, error) {
	t := &tree{store: d.store, hash: hash, kept: map[string]*agent.Definition{}}
	if hash == "" {
		return t, nil
	}
	data, err := d.store.Definition(ctx, hash)
	if err != nil {
		return nil, fmt.Errorf("roster %s: %w", hash, read(err))
	}
	roster, err := agent.DecodeRoster(data)
	if err != nil {
		return nil, err
	}
	t.names = roster.Agents
	return t, nil
}

// find is a local.AgentFinder.
func (t *tree) find(ctx context.Context, name string) (*agent.Definition, error) {
	hash, ok := t.names[name]
	if !ok {
		return nil, fmt.Errorf("%w: %s", local.ErrNoAgent, name)
	}
	t.mu.Lock()
	defer t.mu.Unlock() // the store answers within the attempts' time
	if kept := t.kept[name]; kept != nil {
		return kept, nil
	}
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	data, err := t.store.Definition(ctx, hash)
	if err != nil {
		return nil, fmt.Errorf("agent %s, definition %s: %w", name, hash, err)
	}
	definition, err := agent.Decode(data)
	if err != nil {
		return nil, cannotRun(hash, fmt.Errorf("agent %q: %w", name, err))
	}
	t.kept[name] = definition
	return definition, nil
}
