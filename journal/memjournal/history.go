package memjournal

import (
	"slices"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// part is a piece of a history: messages that a conversation holds, from an index on and up to another one.
type part struct {
	conversation string // its name
	from, to     int
}

// conversation is a history and who may add to it. The history is base and, behind it, messages from the index from on: what
// stands before that is in the base, or was rolled back.
type conversation struct {
	name      string // see journal.ConversationName
	tenant    string
	active    execution.ID // empty: none
	waiting   []execution.ID
	successor execution.ID // the first in the line if it takes the place of the active one; else empty
	messages  [][]byte
	base      []part
	from      int
	based     int // conversations whose base names this one
	rows      int // executions not yet purged
}

// view is the history of an execution that was rolled back: so many parts of the base, and the messages between two indexes.
type view struct{ parts, from, to int }

// length is that of the history.
func (c *conversation) length() int { return total(c.base) + len(c.messages) - c.from }

func total(parts []part) (length int) {
	for _, p := range parts {
		length += p.to - p.from
	}
	return length
}

// add appends to the history what is the row's.
func (c *conversation) add(r *row, messages [][]byte) {
	if len(messages) == 0 {
		return
	}
	c.messages = append(c.messages, messages...)
	r.HistoryEnd = c.length()
}

// enter appends what the row says first, behind what those had said that it took the place of.
func (c *conversation) enter(r *row) {
	r.HistoryStart = c.length() + r.inherited
	r.HistoryEnd = c.length()
	c.add(r, r.messages)
	r.messages, r.inherited, r.rollback = nil, 0, false
}

// parts is the history that the row sees.
func (s *Store) parts(r *row) []part {
	c := s.conversations[r.talk()]
	base, from, to := c.base, c.from, len(c.messages)
	if r.view != nil {
		base, from, to = base[:r.view.parts], r.view.from, r.view.to
	}
	return append(slices.Clone(base), part{c.name, from, to})
}

// history is what the row sees, not copied.
func (s *Store) history(r *row) [][]byte {
	parts := s.parts(r)
	if len(parts) == 1 {
		return s.conversations[parts[0].conversation].messages[parts[0].from:parts[0].to]
	}
	var all [][]byte
	for _, p := range parts {
		all = append(all, s.conversations[p.conversation].messages[p.from:p.to]...)
	}
	return all
}

// rollBack lets the history go on from before the row, which has just ended.
func (c *conversation) rollBack(r *row) {
	start := r.HistoryStart - total(c.base) + c.from
	r.view = &view{parts: len(c.base), from: c.from, to: len(c.messages)}
	if start > c.from {
		c.base = append(slices.Clone(c.base), part{c.name, c.from, start})
	}
	c.from = len(c.messages)
}

// seal answers the calls of the batch that a row which ends is in.
func (s *Store) seal(r *row) {
	var sealed [][]byte
	for _, call := range r.batch {
		var intent, receipt []byte
		if entry := r.ledger[call]; entry != nil {
			intent, receipt = entry.Intent, entry.Receipt
		}
		sealed = append(sealed, journal.Sealed(r.ID, call, intent, receipt))
	}
	s.conversations[r.talk()].add(r, sealed)
}

// baseOf is the history of a fork before anything is said in it, or false when the other one has none of that length.
func (s *Store) baseOf(r *row, fork *journal.Fork) ([]part, bool) {
	length := fork.Length
	switch {
	case fork.Whole:
		length = r.HistoryEnd
	case fork.Own:
		length += r.HistoryStart
	}
	var base []part
	for _, p := range s.parts(r) {
		if p.to = min(p.to, p.from+length); p.to > p.from {
			base = append(base, p)
			length -= p.to - p.from
		}
	}
	return base, length == 0
}

// lean counts the conversation among those that its base is made of, or no longer.
func (s *Store) lean(c *conversation, by int) {
	counted := map[string]bool{c.name: true}
	for _, p := range c.base {
		if counted[p.conversation] {
			continue
		}
		counted[p.conversation] = true
		other := s.conversations[p.conversation]
		other.based += by
		if other.based == 0 && other.rows == 0 {
			s.drop(other)
		}
	}
}

// drop deletes a conversation that has no execution, unless another one is based on it.
func (s *Store) drop(c *conversation) {
	if c.based > 0 {
		return
	}
	delete(s.conversations, c.name)
	s.lean(c, -1)
}

// close ends the history of a conversation whose executions are all gone: what others are based on stays for them, and
// whoever submits to it again begins behind that, where nothing is said.
func (s *Store) close(c *conversation) {
	s.lean(c, -1)
	c.base, c.from = nil, len(c.messages)
}
