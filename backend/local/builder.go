package local

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/pawl-run/pawl/agent"
)

// DefaultMaxKits is how many kits a Kits keeps when its configuration does not say.
const DefaultMaxKits = 256

type (
	// Lookup finds a variable of the program's own environment.
	Lookup func(name string) (value string, ok bool)
	// ModelFactory makes the model of a definition ready. Its errors carry no secret.
	ModelFactory func(ctx context.Context, definition *agent.Definition, lookup Lookup) (Model, error)
	// ToolFactory makes one tool of a definition ready. Its errors carry no secret.
	ToolFactory func(ctx context.Context, definition *agent.Definition, tool agent.Tool, lookup Lookup) (Tool, error)
)

// BuilderConfig says what a Kits builds from.
type BuilderConfig struct {
	Models map[string]ModelFactory // by provider
	Tools  map[agent.ToolType]ToolFactory
	Lookup Lookup // os.LookupEnv by default
	// MaxKits bounds the kits that are kept; the one used longest ago is dropped and built again when it is needed.
	// DefaultMaxKits by default.
	MaxKits int
}

// ErrUnsupported reports a definition that needs a provider or a type of tool this program does not have.
var ErrUnsupported = errors.New("not supported by this program")

var errPanicked = errors.New("a part of it panicked")

// Kits is the Builder: it builds the kit of a definition once and keeps it by the definition's hash. It may be used by
// many goroutines; two that need the same kit at once build it once.
type Kits struct {
	cfg BuilderConfig // immutable

	mu    sync.Mutex
	byKey map[string]*list.Element // guarded by mu; values are *built
	order *list.List               // guarded by mu; used last in front
}

// built is the kit of one definition, or a build under way.
type built struct {
	hash string
	done chan struct{} // closed when kit and err are set
	kit  *Kit
	err  error
}

// NewBuilder makes an empty Kits.
func NewBuilder(cfg BuilderConfig) (*Kits, error) {
	if cfg.MaxKits < 0 {
		return nil, fmt.Errorf("builder config: MaxKits is negative")
	}
	if cfg.MaxKits == 0 {
		cfg.MaxKits = DefaultMaxKits
	}
	if cfg.Lookup == nil {
		cfg.Lookup = os.LookupEnv
	}
	return &Kits{cfg: cfg, byKey: map[string]*list.Element{}, order: list.New()}, nil
}

// Build is the kit of the definition. An error is not kept: the next call tries again. When ctx ends while another
// goroutine builds, it returns the cause.
func (k *Kits) Build(ctx context.Context, definition *agent.Definition) (*Kit, error) {
	hash := definition.Hash()
	for {
		b, mine := k.entry(hash)
		if mine {
			k.run(ctx, b, definition)
			return b.kit, b.err
		}
		select {
		case <-b.done:
		case <-ctx.Done():
			return nil, fmt.Errorf("build agent %q: %w", definition.Name, context.Cause(ctx))
		}
		if b.err == nil {
			return b.kit, nil
		}
		// The other one failed, perhaps only because its context ended: try ourselves.
	}
}

// run builds the kit of b for all who wait for it. A panic is theirs to see as an error, and the caller's as it is: nobody waits
// for ever.
func (k *Kits) run(ctx context.Context, b *built, definition *agent.Definition) {
	b.err = fmt.Errorf("build agent %q: %w", definition.Name, errPanicked)
	defer func() {
		if b.err != nil {
			k.drop(b)
		}
		close(b.done)
	}()
	b.kit, b.err = k.build(ctx, definition)
}

// entry finds the kit of hash or begins a new one, which is then the caller's to build.
func (k *Kits) entry(hash string) (b *built, mine bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if element, ok := k.byKey[hash]; ok {
		k.order.MoveToFront(element)
		return element.Value.(*built), false
	}
	b = &built{hash: hash, done: make(chan struct{})}
	k.byKey[hash] = k.order.PushFront(b)
	for k.order.Len() > k.cfg.MaxKits {
		oldest := k.order.Back()
		delete(k.byKey, oldest.Value.(*built).hash)
		k.order.Remove(oldest)
	}
	return b, true
}

func (k *Kits) drop(b *built) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if element, ok := k.byKey[b.hash]; ok && element.Value.(*built) == b {
		delete(k.byKey, b.hash)
		k.order.Remove(element)
	}
}

func (k *Kits) build(ctx context.Context, definition *agent.Definition) (*Kit, error) {
	fail := func(part string, err error) (*Kit, error) {
		return nil, fmt.Errorf("build agent %q: %s: %w", definition.Name, part, err)
	}
	kit := &Kit{Tools: make([]Tool, 0, len(definition.Tools))}
	for i := range 1 + len(definition.Model.Fallback) {
		own := *definition
		own.Model = definition.Model.At(i)
		newModel, ok := k.cfg.Models[own.Model.Provider]
		if !ok {
			return fail(fmt.Sprintf("model provider %q", own.Model.Provider), ErrUnsupported)
		}
		model, err := newModel(ctx, &own, k.cfg.Lookup)
		if err != nil {
			return fail("model", err)
		}
		if i == 0 {
			kit.Model = model
			continue
		}
		kit.Fallback = append(kit.Fallback, model)
	}
	for _, declared := range definition.Tools {
		newTool, ok := k.cfg.Tools[declared.Type]
		if !ok {
			return fail(fmt.Sprintf("tool %q: type %q", declared.Name, declared.Type), ErrUnsupported)
		}
		tool, err := newTool(ctx, definition, declared, k.cfg.Lookup)
		if err != nil {
			return fail(fmt.Sprintf("tool %q", declared.Name), err)
		}
		kit.Tools = append(kit.Tools, tool)
	}
	return kit, nil
}
