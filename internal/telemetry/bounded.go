package telemetry

import "sync"

// maxValues bounds the values of one label: names of models and tools come from callers and servers.
const maxValues = 200

// other stands for all values behind the first ones.
const other = "other"

// bounded lets the first values of a label through.
type bounded struct {
	mu   sync.Mutex
	seen map[string]struct{} // guarded by mu
}

func newBounded() *bounded { return &bounded{seen: make(map[string]struct{})} }

// value is the text itself, or other.
func (b *bounded) value(text string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, known := b.seen[text]; known {
		return text
	}
	if len(b.seen) >= maxValues {
		return other
	}
	b.seen[text] = struct{}{}
	return text
}
