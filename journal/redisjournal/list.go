package redisjournal

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

const (
	// rowsAtOnce is how many whole rows a listing reads in one round trip.
	rowsAtOnce = 32
	// looksAtOnce is how many rows are held against the filters in one round trip.
	looksAtOnce = 250
	// enoughListed is how many bytes of requests and results end a page: about what one reply should be.
	enoughListed = 4 << 20
)

// List returns a page of a listing. See journal.Lister.
//
// The indexes of the partitions are merged by the instants of creation that stand in them; the page's place in the merge is
// the mark. What an index says of a row may have changed since: the row decides.
func (s *Store) List(ctx context.Context, l journal.Listing) (journal.ListPage, error) {
	page, err := s.list(ctx, l)
	if err != nil {
		return journal.ListPage{}, refusal("list", string(l.ConversationID), err)
	}
	return page, nil
}

func (s *Store) list(ctx context.Context, l journal.Listing) (journal.ListPage, error) {
	p := pager{store: s, listing: l, page: journal.ListPage{Executions: []journal.Execution{}}}
	if err := journal.CheckListing(l); err != nil {
		return p.page, err
	}
	m, err := s.newMerge(ctx, l)
	if err != nil {
		return p.page, err
	}
	p.kind = m.kind
	for !p.full() {
		marks, err := m.next(ctx, p.portion())
		if err != nil || len(marks) == 0 {
			p.page.Next = nil
			return p.page, err
		}
		left, err := p.take(ctx, marks)
		if err != nil || left {
			return p.page, err
		}
	}
	return m.last(ctx, p.page)
}

// pager fills a page.
type pager struct {
	store   *Store
	listing journal.Listing
	kind    indexKind // of the index that is read
	page    journal.ListPage
	looked  int // how many rows
	bytes   int // of what is long in the page's rows
}

func (p *pager) full() bool {
	return p.wanted() <= 0 || p.looked >= journal.MaxListed || p.bytes >= enoughListed
}

func (p *pager) wanted() int { return p.listing.Limit - len(p.page.Executions) }

// portion is how many rows come next. Where the index may hold rows that do not match, it is more than are wanted.
func (p *pager) portion() int {
	n := min(p.wanted(), rowsAtOnce)
	if p.filtered() {
		n = looksAtOnce
	}
	return min(n, journal.MaxListed-p.looked)
}

// take goes through the rows at the marks. It reports whether the page was full before the last of them.
func (p *pager) take(ctx context.Context, marks []journal.ListMark) (left bool, err error) {
	wanted, err := p.look(ctx, marks)
	if err != nil {
		return false, err
	}
	for len(wanted) > 0 {
		some := wanted[:min(len(wanted), rowsAtOnce, p.wanted())]
		wanted = wanted[len(some):]
		rows, err := p.store.rowsAt(ctx, marks, some)
		if err != nil {
			return false, err
		}
		for i, at := range some {
			if row := rows[i]; row != nil && p.listing.Matches(&row.Execution) {
				p.page.Executions = append(p.page.Executions, row.Execution)
				p.bytes += row.bytes
			}
			p.page.Next = &marks[at]
			if p.full() && at < len(marks)-1 {
				return true, nil
			}
		}
	}
	p.page.Next = &marks[len(marks)-1]
	p.looked += len(marks)
	return false, nil
}

// filtered reports whether a row is looked at before it is read as a whole.
func (p *pager) filtered() bool {
	l := p.listing
	return l.Agent != "" || l.UpdatedSinceMs != 0 || l.State != "" && p.kind != byState ||
		l.ConversationID != "" && p.kind != byConversation
}

// listedRow is a row and the bytes of what is long in it.
type listedRow struct {
	journal.Execution
	bytes int
}

// rowsAt reads the rows at some of the marks: nil for one that is gone, or cannot be read.
func (s *Store) rowsAt(ctx context.Context, marks []journal.ListMark, places []int) ([]*listedRow, error) {
	calls := make([]invocation, len(places))
	for i, at := range places {
		calls[i] = invocation{keys: s.keys.execution(marks[at].ID), args: []any{s.now()}}
	}
	commands, err := s.pipeline(ctx, s.scripts.get, calls)
	if err != nil {
		return nil, err
	}
	rows := make([]*listedRow, len(places))
	for i, at := range places {
		rows[i], err = listed(newReplyOf(commands[i].Result()))
		switch {
		case unreadable(err): // it hides no other one
			s.cfg.Logger.WarnContext(ctx, "an execution that cannot be read is left out of a listing", "execution", marks[at].ID, "error", err)
		case err != nil:
			return nil, fmt.Errorf("%s: %w", marks[at].ID, err)
		}
	}
	return rows, nil
}

func listed(a answer) (*listedRow, error) {
	if errors.Is(scriptError(a.failed), journal.ErrNotFound) {
		return nil, nil // purged since
	}
	if a.failed != nil {
		return nil, a.failed
	}
	row, err := decodeRow(a.reply)
	if errors.Is(err, execution.ErrNewer) {
		return nil, nil // a program of that release lists it
	}
	if err != nil {
		return nil, err
	}
	size := len(row.Request.Input.Text)
	if row.Outcome != nil {
		size += len(row.Outcome.Answer) + len(row.Outcome.Output)
	}
	return &listedRow{Execution: row, bytes: size}, nil
}

// look gives the places of the marks whose rows pass the filters that a few fields decide.
func (p *pager) look(ctx context.Context, marks []journal.ListMark) ([]int, error) {
	places, s := make([]int, 0, len(marks)), p.store
	if !p.filtered() {
		for i := range marks {
			places = append(places, i)
		}
		return places, nil
	}
	looks := make([]*redis.SliceCmd, len(marks))
	_, err := s.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, mark := range marks {
			looks[i] = pipe.HMGet(ctx, s.keys.row(mark.ID), "state", "agent", "updatedAtMs", "endedAtMs", "conversation")
		}
		return nil
	})
	if err != nil && !unreadable(err) {
		return nil, err
	}
	for i, look := range looks {
		err := look.Err()
		if err != nil && !unreadable(err) {
			return nil, fmt.Errorf("%s: %w", marks[i].ID, err)
		}
		if err != nil || passes(p.listing, look.Val()) { // what becomes of one that cannot be read is said once
			places = append(places, i)
		}
	}
	return places, nil
}

// passes looks at state, agent, the instants of the last change and of the end, and the conversation.
func passes(l journal.Listing, fields []any) bool {
	text := func(i int) string {
		value, _ := fields[i].(string) // nil: not there
		return value
	}
	updated := text(2)
	if updated == "" {
		updated = text(3)
	}
	ms, err := strconv.ParseInt(updated, 10, 64)
	return err == nil && ms >= l.UpdatedSinceMs && (l.State == "" || text(0) == string(l.State)) &&
		(l.Agent == "" || text(1) == l.Agent) &&
		(l.ConversationID == "" || journal.NamedConversation(text(4)) == l.ConversationID)
}
