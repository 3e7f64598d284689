package link

import (
	"crypto/sha256"
	"encoding/hex"
	"sync"

	"github.com/pawl-run/pawl/agent"
)

// maxTexts bounds what texts keeps; a catalog has a few definitions, and those of catalogs that were replaced go with them.
const maxTexts = 256

// text is what is stored of a definition.
type text struct {
	hash      string
	canonical []byte
}

// texts keeps the texts of declared definitions, which nobody changes: to make one costs more than the rest of a submission.
// Safe for concurrent use; the zero value is ready.
type texts struct {
	mu   sync.Mutex
	kept map[*agent.Definition]text // guarded by mu
}

func (t *texts) of(definition *agent.Definition) text {
	t.mu.Lock()
	defer t.mu.Unlock()
	if found, ok := t.kept[definition]; ok {
		return found
	}
	if t.kept == nil || len(t.kept) >= maxTexts {
		t.kept = map[*agent.Definition]text{}
	}
	canonical := definition.Canonical()
	sum := sha256.Sum256(canonical)
	made := text{hash: hex.EncodeToString(sum[:]), canonical: canonical}
	t.kept[definition] = made
	return made
}
