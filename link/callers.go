package link

import (
	"sync"

	"github.com/pawl-run/pawl/execution"
)

// maxCallers bounds a generation of callers.
const maxCallers = 16 << 10

// callers remembers whose executions are, of those that were asked for lately. An execution's caller never changes.
type callers struct {
	mu         sync.Mutex
	young, old map[execution.ID]execution.CallerScope
}

func (c *callers) get(id execution.ID) (execution.CallerScope, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if caller, ok := c.young[id]; ok {
		return caller, true
	}
	caller, ok := c.old[id]
	if ok {
		c.add(id, caller)
	}
	return caller, ok
}

func (c *callers) put(id execution.ID, caller execution.CallerScope) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(id, caller)
}

// add wants the lock held. A full generation becomes the old one.
func (c *callers) add(id execution.ID, caller execution.CallerScope) {
	if c.young == nil || len(c.young) >= maxCallers {
		c.old, c.young = c.young, make(map[execution.ID]execution.CallerScope)
	}
	c.young[id] = caller
}
