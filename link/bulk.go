package link

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"sync"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// bulkAtOnce is how many executions one bulk call steers at a time; the store gathers their calls.
const bulkAtOnce = 16

// bulk is what a bulk call does: its action, the states in which that makes sense, and whether it would change a row.
type bulk struct {
	name    execution.BulkAction
	states  []execution.State
	do      func(context.Context, execution.ID) (journal.Change, error)
	changes func(*journal.Execution) bool
}

// Bulk implements RuntimeLink.
func (l *session) Bulk(ctx context.Context, request execution.BulkRequest) (execution.BulkResult, error) {
	if l.authority.Role == execution.ReadRole {
		return execution.BulkResult{}, forbidden("a key of role read steers nothing")
	}
	action, err := l.service.bulkAction(request)
	if err != nil {
		return execution.BulkResult{}, err
	}
	listing, err := l.bulkListing(request, action)
	if err != nil {
		return execution.BulkResult{}, err
	}
	page, err := l.service.cfg.Journal.List(ctx, listing)
	if err != nil {
		return execution.BulkResult{}, l.service.problem(ctx, "bulk "+string(action.name), err)
	}
	rows := slices.DeleteFunc(page.Executions, func(row journal.Execution) bool {
		return !slices.Contains(action.states, row.State)
	})
	result := execution.BulkResult{Matched: len(rows), Executions: []execution.ID{}}
	if page.Next != nil {
		result.NextCursor = encodeCursor(bulkOwner(listing, action), *page.Next)
	}
	if request.DryRun {
		foresee(&result, action, rows)
		return result, nil
	}
	l.carryOut(ctx, &result, action, rows)
	if err := ctx.Err(); err != nil {
		return execution.BulkResult{}, l.service.problem(ctx, "bulk "+string(action.name), err)
	}
	return result, nil
}

// bulkAction is what the request asks for.
func (s *Service) bulkAction(request execution.BulkRequest) (bulk, error) {
	switch request.Action {
	case execution.BulkCancel:
		return bulk{
			execution.BulkCancel, journal.Allowed(journal.MoveCancel), s.cfg.Journal.Cancel,
			func(row *journal.Execution) bool { return !row.CancelRequested },
		}, nil
	case execution.BulkResume:
		return bulk{
			execution.BulkResume, journal.Allowed(journal.MoveResume),
			func(ctx context.Context, id execution.ID) (journal.Change, error) {
				return s.cfg.Journal.Resume(ctx, id, journal.Resumption{})
			},
			func(*journal.Execution) bool { return true },
		}, nil
	case "":
		return bulk{}, required("action")
	default:
		return bulk{}, invalid("action", "want %q or %q", execution.BulkCancel, execution.BulkResume)
	}
}

// bulkListing is the listing of the executions that are meant, and may be steered.
func (l *session) bulkListing(request execution.BulkRequest, action bulk) (journal.Listing, error) {
	f := request.Filter
	if f.State == "" && f.Agent == "" && f.ConversationID == "" && len(f.Metadata) == 0 && f.UpdatedSinceMs == 0 {
		return journal.Listing{}, invalid("filter", "must have at least one field")
	}
	if request.Limit < 0 || request.Limit > MaxLimit {
		return journal.Listing{}, invalid("limit", "want a number from 1 to %d", MaxLimit)
	}
	listing, err := l.listing(execution.ListQuery{
		State: f.State, Agent: f.Agent, ConversationID: f.ConversationID, Metadata: f.Metadata,
		UpdatedSinceMs: f.UpdatedSinceMs, Limit: request.Limit,
	})
	if err != nil {
		return listing, inFilter(err)
	}
	if f.State != "" && !slices.Contains(action.states, f.State) {
		return listing, invalid("filter.state", "there is nothing to %s in an execution that is %s", action.name, f.State)
	}
	if len(action.states) == 1 {
		listing.State = action.states[0] // others are not meant
	}
	if request.Cursor != "" {
		mark, err := decodeCursor(bulkOwner(listing, action), request.Cursor)
		if err != nil {
			return listing, err
		}
		listing.After = &mark
	}
	return listing, nil
}

// inFilter names a field of a listing as a bulk call has it.
func inFilter(err error) error {
	if api := new(execution.APIError); errors.As(err, &api) && api.Field != "" && api.Field != "limit" {
		if api.Field == "updatedSince" {
			api.Field = "updatedSinceMs"
		}
		api.Field = "filter." + api.Field
	}
	return err
}

// bulkOwner identifies a bulk call, whatever the size and the place of its pages.
func bulkOwner(listing journal.Listing, action bulk) []byte {
	sum := sha256.Sum256(append([]byte("bulk "+action.name+" "), cursorOf(listing)...))
	return sum[:cursorOwner]
}

// foresee says what the action would do.
func foresee(result *execution.BulkResult, action bulk, rows []journal.Execution) {
	for i := range rows {
		result.Executions = append(result.Executions, rows[i].ID)
		if action.changes(&rows[i]) {
			result.Changed++
		}
	}
}

// carryOut steers the executions, some at a time. Each is refused for itself: it may have changed since it was listed.
func (l *session) carryOut(ctx context.Context, result *execution.BulkResult, action bulk, rows []journal.Execution) {
	steered, errs := make([]execution.Steered, len(rows)), make([]error, len(rows))
	slots := make(chan struct{}, bulkAtOnce)
	var group sync.WaitGroup
	for i := range rows {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			steered[i], errs[i] = l.apply(ctx, string(action.name), rows[i].ID, action.do)
		})
	}
	group.Wait()
	for i := range rows {
		if failed := new(execution.APIError); errors.As(errs[i], &failed) {
			result.Failed = append(result.Failed, execution.BulkFailure{ID: rows[i].ID, Code: failed.Code, Detail: failed.Detail})
			continue
		}
		result.Executions = append(result.Executions, rows[i].ID)
		if steered[i].Changed {
			result.Changed++
		}
	}
}
