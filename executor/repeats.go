package executor

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/pawl-run/pawl/execution"
)

// A call that fails again and again in the very same way leads nowhere: the same tool, the same arguments, the same error
// maxRepeats times end the run. Calls that were made in between do not change that, as long as they are few.
const (
	maxRepeats  = 5
	keptRepeats = 16
)

// Repeat counts how often a call has failed with the same error.
type Repeat struct {
	Call  string `json:"c"` // short hash of tool and arguments
	Error string `json:"e"` // short hash of the error
	Count int    `json:"n"`
}

// countRepeats counts the batch's failures, each call once however often it is in the batch, and names a tool whose call
// has been repeated too often. A call that has worked begins anew.
func (m *machine) countRepeats(entries map[execution.CallID]entry) (over string) {
	seen := map[string]bool{}
	for _, call := range m.state.Batch.Calls {
		result, done := m.received[call.CallID]
		if !done {
			continue
		}
		intent := entries[call.CallID].intent.Call
		name := shortHash(intent.Name, string(intent.Arguments))
		if seen[name] {
			continue
		}
		seen[name] = true
		if m.repeated(name, result) >= maxRepeats {
			over = intent.Name
		}
	}
	return over
}

// repeated takes one result into the counts and returns that of its call.
func (m *machine) repeated(name string, result execution.ToolResult) int {
	count := Repeat{Call: name, Count: 1}
	if result.IsError {
		count.Error = shortHash(string(result.Content))
	}
	kept := make([]Repeat, 1, len(m.state.Repeats)+1)
	for _, r := range m.state.Repeats {
		switch {
		case r.Call != name:
			kept = append(kept, r)
		case r.Error == count.Error:
			count.Count = r.Count + 1
		}
	}
	if !result.IsError {
		m.state.Repeats = nil
		if len(kept) > 1 {
			m.state.Repeats = kept[1:]
		}
		return 0
	}
	kept[0] = count
	m.state.Repeats = kept[:min(len(kept), keptRepeats)]
	return count.Count
}

func shortHash(texts ...string) string {
	h := sha256.New()
	for _, text := range texts {
		_, _ = fmt.Fprintf(h, "%d:%s", len(text), text) // a hash never fails
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
