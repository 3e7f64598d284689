package redisjournal

import (
	"context"
	"strconv"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// indexKind is which indexes a listing reads.
type indexKind int

const (
	byOwner        indexKind = iota // of the tenant or of the caller
	byState                         // the same, of one state
	byConversation                  // of one conversation
)

// index chooses the narrowest index. Most executions are completed: they have no index of their state.
func index(l journal.Listing) indexKind {
	switch {
	case l.ConversationID != "":
		return byConversation
	case l.State != "" && l.State != execution.Completed:
		return byState
	default:
		return byOwner
	}
}

// merge reads the indexes of a listing as if they were one, newest first.
type merge struct {
	store *Store
	kind  indexKind
	heads []*head
}

// head is the part of one partition's index that was read and not yet taken.
type head struct {
	partition execution.Partition
	keys      []string
	tenant    string             // whose conversation it has to be; empty: anybody's, or no conversation
	marks     []journal.ListMark // newest first
	after     *journal.ListMark  // where the next part begins
	size      int                // of the next part
	read      bool               // to its end
}

func (s *Store) newMerge(ctx context.Context, l journal.Listing) (*merge, error) {
	m := &merge{store: s, kind: index(l)}
	if m.kind == byConversation {
		heads, few, err := s.talks(ctx, l)
		if err != nil || few {
			m.heads = heads
			return m, err
		}
		l.ConversationID = "" // the filter remains
		m.kind = index(l)
	}
	state := l.State
	if m.kind != byState {
		state = ""
	}
	for p := range execution.Partition(execution.Partitions) {
		key := s.keys.tenant(p, l.Caller.Tenant, state)
		if l.Own {
			key = s.keys.caller(p, l.Caller, state)
		}
		m.heads = append(m.heads, &head{partition: p, keys: []string{key}, after: l.After})
	}
	return m, nil
}

// next takes at most n marks; none when the indexes have come to their end.
func (m *merge) next(ctx context.Context, n int) ([]journal.ListMark, error) {
	taken := make([]journal.ListMark, 0, n)
	for len(taken) < n {
		if err := m.fill(ctx, n-len(taken)); err != nil {
			return nil, err
		}
		first := m.first()
		if first == nil {
			break
		}
		taken = append(taken, first.marks[0])
		first.marks = first.marks[1:]
	}
	return taken, nil
}

// first is the head whose first mark is the newest, nil when all are at their end. All that can be filled are.
func (m *merge) first() *head {
	var first *head
	for _, h := range m.heads {
		if len(h.marks) > 0 && (first == nil || h.marks[0].Before(first.marks[0])) {
			first = h
		}
	}
	return first
}

// last gives a page that took all it was given: none follows when nothing is left.
func (m *merge) last(ctx context.Context, page journal.ListPage) (journal.ListPage, error) {
	if m.first() != nil {
		return page, nil
	}
	if err := m.fill(ctx, 1); err != nil {
		return page, err
	}
	if m.first() == nil {
		page.Next = nil
	}
	return page, nil
}

// fill reads on, in one round trip, where nothing is left of what was read and more may follow. What is wanted is expected
// to come from all partitions alike; one that is emptied again gives twice as much.
func (m *merge) fill(ctx context.Context, wanted int) error {
	var empty []*head
	var calls []invocation
	for _, h := range m.heads {
		if len(h.marks) > 0 || h.read {
			continue
		}
		h.size = min(max(2*h.size, 3+2*wanted/len(m.heads)), journal.MaxListed)
		at, below := h.behind()
		empty = append(empty, h)
		calls = append(calls, invocation{keys: h.keys, args: []any{at, below, h.size, h.tenant, m.store.now()}})
	}
	if len(empty) == 0 {
		return nil
	}
	commands, err := m.store.pipeline(ctx, m.store.scripts.list, calls)
	if err != nil {
		return err
	}
	for i, command := range commands {
		if err := empty[i].take(newReplyOf(command.Result())); err != nil {
			return err
		}
	}
	return nil
}

// behind is the head's mark as list.lua takes it. Of the entries of the mark's own instant those stand behind it whose ids
// are lower; the ids of another partition are all lower or all higher.
func (h *head) behind() (at, below string) {
	if h.after == nil {
		return "", ""
	}
	at = strconv.FormatInt(h.after.CreatedAtMs, 10)
	switch p := h.after.ID.Partition(); {
	case h.partition < p:
		return at, "+"
	case h.partition > p:
		return at, ""
	default:
		return at, string(h.after.ID[tailAt:])
	}
}

// take reads what list.lua returned.
func (h *head) take(a answer) error {
	if a.failed != nil {
		return a.failed
	}
	for i := 0; i+1 < len(a.items); i += 2 {
		created, err := strconv.ParseFloat(a.text(i+1), 64) // as Redis writes scores
		if err != nil {
			a.fail(i+1, "instant")
		}
		h.marks = append(h.marks, journal.ListMark{
			CreatedAtMs: int64(created), ID: execution.ID("exec_" + h.partition.Tag()[1:] + a.text(i)),
		})
	}
	h.read = len(a.items) < 2*h.size
	if len(h.marks) > 0 {
		h.after = &h.marks[len(h.marks)-1]
	}
	return a.err
}
