package executor

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// maxDefinitions bounds the definitions a process keeps ready.
const maxDefinitions = 256

// ready is a definition and its kit.
type ready struct {
	key        string
	definition *agent.Definition
	kit        *local.Kit
	remote     *backend.ResolvedAgent // of a remote agent, whose kit is empty; nil: the agent is local
	schemas    *schemas
	tree       *tree
	// limited: the limits of the definition are those of a resume, and hold whatever a checkpoint says.
	limited bool
}

// definitions keeps the definitions used last, by hash and overrides.
type definitions struct {
	store   Store
	builder local.Builder
	remotes Remotes // may be nil

	mu    sync.Mutex
	byKey map[string]*list.Element // guarded by mu; values are *ready
	order *list.List               // guarded by mu; used last in front
}

func newDefinitions(store Store, builder local.Builder, remotes Remotes) *definitions {
	return &definitions{store: store, builder: builder, remotes: remotes, byKey: map[string]*list.Element{}, order: list.New()}
}

// definitionKey names a definition with an execution's overrides.
func definitionKey(hash string, overrides []byte) string {
	if len(overrides) == 0 {
		return hash
	}
	sum := sha256.Sum256(overrides)
	return hash + " " + hex.EncodeToString(sum[:])
}

// get returns the definition, with the overrides in it, ready to run, errDefinition, or the store's error.
func (d *definitions) get(ctx context.Context, hash string, overrides []byte) (*ready, error) {
	key := definitionKey(hash, overrides)
	if kept := d.kept(key); kept != nil {
		return kept, nil
	}
	data, err := d.store.Definition(ctx, hash)
	if err != nil {
		if unavailable(err) {
			return nil, fmt.Errorf("definition %s: %w", hash, err)
		}
		return nil, cannotRun(hash, read(err))
	}
	definition, err := agent.Decode(data)
	if err != nil {
		return nil, cannotRun(hash, err)
	}
	adjustments, err := agent.DecodeAdjustments(overrides)
	if err == nil {
		definition, err = definition.Adjusted(adjustments)
	}
	if err != nil {
		return nil, cannotRun(hash, err)
	}
	kit, remote, err := carriers(ctx, definition, d.builder, d.remotes)
	if err != nil && definition.Newer() {
		err = fmt.Errorf("%w: %w", execution.ErrNewer, err)
	}
	if err != nil {
		return nil, cannotRun(hash, err)
	}
	tree, err := d.tree(ctx, adjustments.Roster)
	if unavailable(err) {
		return nil, err
	}
	if err != nil {
		return nil, cannotRun(hash, err)
	}
	made := &ready{
		key: key, definition: definition, kit: kit, remote: remote, schemas: newSchemas(), tree: tree, limited: adjustments.Limits != nil,
	}
	d.keep(made)
	return made, nil
}

// errNoRemotes reports a remote agent in a program that has no backend for any.
var errNoRemotes = errors.New("this program runs no remote agents")

// carriers are what carries the definition out: its kit, or the remote agent, whose backend is then there already.
func carriers(ctx context.Context, definition *agent.Definition, builder local.Builder, remotes Remotes) (
	*local.Kit, *backend.ResolvedAgent, error,
) {
	if !definition.Remote() {
		kit, err := builder.Build(ctx, definition)
		return kit, nil, err
	}
	if remotes == nil {
		return nil, nil, fmt.Errorf("agent %q: %w", definition.Name, errNoRemotes)
	}
	remote, err := remotes.Resolve(definition)
	if err != nil {
		return nil, nil, err
	}
	if _, err := remote.Backend(); err != nil {
		return nil, nil, fmt.Errorf("agent %q: %w", definition.Name, err)
	}
	return &local.Kit{}, remote, nil
}

func (d *definitions) kept(key string) *ready {
	d.mu.Lock()
	defer d.mu.Unlock()
	element, ok := d.byKey[key]
	if !ok {
		return nil
	}
	d.order.MoveToFront(element)
	return element.Value.(*ready)
}

func (d *definitions) keep(made *ready) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.byKey[made.key]; ok {
		return // another task was faster
	}
	d.byKey[made.key] = d.order.PushFront(made)
	if d.order.Len() > maxDefinitions {
		oldest := d.order.Remove(d.order.Back()).(*ready)
		delete(d.byKey, oldest.key)
	}
}
