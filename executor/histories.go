package executor

import (
	"bytes"
	"container/list"
	"sync"

	"github.com/pawl-run/pawl/execution"
)

// maxHistoryBytes bounds what a worker keeps of histories, counted in stored bytes; decoded they are about twice as many.
const maxHistoryBytes = 64 << 20

// maxHistories bounds their number: those of executions that went on elsewhere are no use to anybody, and a worker does not
// hear of it.
const maxHistories = 512

// history is the beginning of a conversation as an execution of it read it. It is shared: nobody writes to what it holds,
// and whoever appends gets a new one.
type history struct {
	messages []execution.Message
	last     []byte // the last message as it is stored
	bytes    int    // of all messages, as they are stored
}

// known is how many messages need not come again: all but the last, by which the store's answer is recognized.
func (h *history) known() int {
	if h == nil {
		return 0
	}
	return max(len(h.messages)-1, 0)
}

// with takes in what the store has from known on. It returns false when the store has another history: a failover may
// take back what was acknowledged, and another worker then went on differently.
func (h *history) with(stored [][]byte) (*history, bool, error) {
	if h == nil || len(h.messages) == 0 {
		grown, err := (&history{}).and(stored)
		return grown, true, err
	}
	if len(stored) == 0 || !bytes.Equal(stored[0], h.last) {
		return nil, false, nil
	}
	grown, err := h.and(stored[1:])
	return grown, true, err
}

// and appends messages.
func (h *history) and(stored [][]byte) (*history, error) {
	if len(stored) == 0 {
		return h, nil
	}
	more, err := decodeMessages(stored)
	if err != nil {
		return nil, err
	}
	grown := &history{messages: append(h.messages[:len(h.messages):len(h.messages)], more...), bytes: h.bytes}
	for _, message := range stored {
		grown.bytes += len(message)
	}
	grown.last = stored[len(stored)-1]
	return grown, nil
}

// histories keeps the histories read last, by execution and not by conversation: a conversation may be purged and its id
// be used again, but not while an execution of it is open.
type histories struct {
	limit int // bytes

	mu    sync.Mutex
	byID  map[execution.ID]*list.Element // guarded by mu; values are *keptHistory
	order *list.List                     // guarded by mu; used last in front
	bytes int                            // guarded by mu
}

type keptHistory struct {
	id      execution.ID
	step    execution.Step // at which it was read
	history *history
}

func newHistories(limit int) *histories {
	return &histories{limit: limit, byID: map[execution.ID]*list.Element{}, order: list.New()}
}

// get is what is known of the execution's history, nil when nothing is.
func (c *histories) get(id execution.ID) *history {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, ok := c.byID[id]
	if !ok {
		return nil
	}
	c.order.MoveToFront(element)
	return element.Value.(*keptHistory).history
}

// seen forgets a history that was read at a later step than the one the execution stands at now: the store has lost what
// it had acknowledged. It returns false then.
func (c *histories) seen(id execution.ID, step execution.Step) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, ok := c.byID[id]
	if !ok || element.Value.(*keptHistory).step <= step {
		return true
	}
	c.remove(element)
	return false
}

// keep remembers a history and forgets the oldest ones beyond the limit.
func (c *histories) keep(id execution.ID, step execution.Step, h *history) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if element, ok := c.byID[id]; ok {
		c.remove(element)
	}
	if h.bytes > c.limit {
		return
	}
	c.byID[id] = c.order.PushFront(&keptHistory{id: id, step: step, history: h})
	c.bytes += h.bytes
	for c.bytes > c.limit || c.order.Len() > maxHistories {
		c.remove(c.order.Back())
	}
}

// drop forgets the history of an execution that needs it no more.
func (c *histories) drop(id execution.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if element, ok := c.byID[id]; ok {
		c.remove(element)
	}
}

// remove wants the lock held.
func (c *histories) remove(element *list.Element) {
	kept := c.order.Remove(element).(*keptHistory)
	delete(c.byID, kept.id)
	c.bytes -= kept.history.bytes
}
