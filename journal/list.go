package journal

import (
	"context"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/execution"
)

// MaxListed is how many rows a page of a listing looks at, at most. A filter that few rows pass may give a page with fewer
// executions than were asked for, or none, that is not the last one.
const MaxListed = 1000

// Lister is the role of those who list executions. It writes nothing.
type Lister interface {
	// List returns a page of a listing, newest first. It looks at MaxListed rows at most and ends a page early that becomes
	// large. A row that cannot be read is left out: it hides no other one. ErrConflict: a limit below 1, an unknown state, a caller without tenant, a mark without execution.
	List(ctx context.Context, listing Listing) (ListPage, error)
}

// Listing is whose executions are listed, which of them, and from where on. A zero filter lets everything pass.
type Listing struct {
	Caller execution.CallerScope
	Own    bool // the caller's own; else those of the caller's tenant, or of every tenant when that is execution.AllTenants

	State          execution.State
	Agent          string
	ConversationID execution.ConversationID
	Metadata       map[string]string // pairs that the request's metadata holds
	UpdatedSinceMs int64             // changed at this instant or later

	After *ListMark // the page begins behind it; nil: with the newest
	Limit int       // of executions in the page
}

// ListMark is a place in a listing: that of an execution, which may have been purged since. Executions stand in the order
// of their creation, the newest first, and those of one millisecond in descending order of their ids.
type ListMark struct {
	CreatedAtMs int64
	ID          execution.ID
}

// Before reports whether m stands before o, that is, is newer.
func (m ListMark) Before(o ListMark) bool {
	if m.CreatedAtMs != o.CreatedAtMs {
		return m.CreatedAtMs > o.CreatedAtMs
	}
	return m.ID > o.ID
}

// ListPage is a page of a listing. Next is where the following one begins; nil when nothing follows.
type ListPage struct {
	Executions []Execution
	Next       *ListMark
}

// CheckListing refuses a listing that no store takes. It wraps ErrConflict.
func CheckListing(l Listing) error {
	switch {
	case l.Limit < 1:
		return fmt.Errorf("%w: a limit of %d", ErrConflict, l.Limit)
	case l.Caller.Tenant == "":
		return fmt.Errorf("%w: a listing of no tenant", ErrConflict)
	case l.State != "" && !slices.Contains(execution.States(), l.State):
		return fmt.Errorf("%w: unknown state %q", ErrConflict, l.State)
	}
	if l.After != nil {
		if _, err := execution.ParseID(string(l.After.ID)); err != nil {
			return fmt.Errorf("%w: the mark: %w", ErrConflict, err)
		}
	}
	return nil
}

// Matches reports whether the row is the caller's to see in the listing and passes its filters.
func (l *Listing) Matches(row *Execution) bool {
	if !l.Caller.Sees(row.Caller) || l.Own && row.Caller != l.Caller {
		return false
	}
	for key, value := range l.Metadata {
		if got, there := row.Request.Metadata[key]; !there || got != value {
			return false
		}
	}
	return (l.State == "" || row.State == l.State) && (l.Agent == "" || row.Agent == l.Agent) &&
		(l.ConversationID == "" || row.ConversationID == l.ConversationID) && row.UpdatedAtMs >= l.UpdatedSinceMs
}
