package executor

import (
	"bytes"
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// errDefinition reports a definition this worker cannot run: it is not stored, cannot be read, or needs what this program
// does not have. Another worker, or this one after an update, may well run it.
var errDefinition = errors.New("unknown definition")

// maxDefinitions bounds the definitions a process keeps ready.
const maxDefinitions = 256

// ready is a definition and its kit.
type ready struct {
	key        string
	definition *agent.Definition
	kit        *local.Kit
	schemas    *schemas
}

// definitions keeps the definitions used last, by hash and overrides.
type definitions struct {
	store   Store
	builder local.Builder

	mu    sync.Mutex
	byKey map[string]*list.Element // guarded by mu; values are *ready
	order *list.List               // guarded by mu; used last in front
}

func newDefinitions(store Store, builder local.Builder) *definitions {
	return &definitions{store: store, builder: builder, byKey: map[string]*list.Element{}, order: list.New()}
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
		return nil, fmt.Errorf("%w %s: %w", errDefinition, hash, err)
	}
	definition, err := agent.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("%w %s: %w", errDefinition, hash, err)
	}
	if definition, err = override(definition, overrides); err != nil {
		return nil, fmt.Errorf("%w %s: %w", errDefinition, hash, err)
	}
	kit, err := d.builder.Build(ctx, definition)
	if err != nil {
		return nil, fmt.Errorf("%w %s: %w", errDefinition, hash, err)
	}
	made := &ready{key: key, definition: definition, kit: kit, schemas: newSchemas()}
	d.keep(made)
	return made, nil
}

// override is the definition that holds for an execution.
func override(definition *agent.Definition, overrides []byte) (*agent.Definition, error) {
	if len(overrides) == 0 {
		return definition, nil
	}
	var o execution.Overrides
	decoder := json.NewDecoder(bytes.NewReader(overrides))
	decoder.DisallowUnknownFields() // of a later version: to leave it out would run something else
	if err := decoder.Decode(&o); err != nil {
		return nil, fmt.Errorf("overrides: %w", err)
	}
	return definition.With(o)
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
