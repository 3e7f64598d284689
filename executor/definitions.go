package executor

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
)

// errDefinition reports a definition this worker cannot run: it is not stored, cannot be read, or needs what this program
// does not have. Another worker, or this one after an update, may well run it.
var errDefinition = errors.New("unknown definition")

// maxDefinitions bounds the definitions a process keeps ready.
const maxDefinitions = 256

// ready is a definition and its kit.
type ready struct {
	hash       string
	definition *agent.Definition
	kit        *local.Kit
	schemas    *schemas
}

// definitions keeps the definitions used last, by hash.
type definitions struct {
	store   Store
	builder local.Builder

	mu     sync.Mutex
	byHash map[string]*list.Element // guarded by mu; values are *ready
	order  *list.List               // guarded by mu; used last in front
}

func newDefinitions(store Store, builder local.Builder) *definitions {
	return &definitions{store: store, builder: builder, byHash: map[string]*list.Element{}, order: list.New()}
}

// get returns the definition ready to run, errDefinition, or the store's error.
func (d *definitions) get(ctx context.Context, hash string) (*ready, error) {
	if kept := d.kept(hash); kept != nil {
		return kept, nil
	}
	data, err := d.store.Definition(ctx, hash)
	if err != nil {
		if unavailable(err) {
			return nil, fmt.Errorf("definition %s: %w", hash, err)
		}
		return nil, fmt.Errorf("%w %s: %w", errDefinition, hash, err)
	}
	definition, err := agent.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("%w %s: %w", errDefinition, hash, err)
	}
	kit, err := d.builder.Build(ctx, definition)
	if err != nil {
		return nil, fmt.Errorf("%w %s: %w", errDefinition, hash, err)
	}
	made := &ready{hash: hash, definition: definition, kit: kit, schemas: newSchemas()}
	d.keep(made)
	return made, nil
}

func (d *definitions) kept(hash string) *ready {
	d.mu.Lock()
	defer d.mu.Unlock()
	element, ok := d.byHash[hash]
	if !ok {
		return nil
	}
	d.order.MoveToFront(element)
	return element.Value.(*ready)
}

func (d *definitions) keep(made *ready) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.byHash[made.hash]; ok {
		return // another task was faster
	}
	d.byHash[made.hash] = d.order.PushFront(made)
	if d.order.Len() > maxDefinitions {
		oldest := d.order.Remove(d.order.Back()).(*ready)
		delete(d.byHash, oldest.hash)
	}
}
