package link

import (
	"context"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// List implements RuntimeLink.
func (l *session) List(ctx context.Context, query execution.ListQuery) (execution.ListPage, error) {
	listing, err := l.listing(query)
	if err != nil {
		return execution.ListPage{}, err
	}
	page, err := l.service.cfg.Journal.List(ctx, listing)
	if err != nil {
		return execution.ListPage{}, l.service.problem(ctx, "list", err)
	}
	out := execution.ListPage{Executions: make([]execution.View, 0, len(page.Executions))}
	for _, row := range page.Executions {
		out.Executions = append(out.Executions, row.View())
	}
	if page.Next != nil {
		out.NextCursor = newCursor(listing, *page.Next)
	}
	return out, nil
}

// listing is what the caller asks for, and may see.
func (l *session) listing(query execution.ListQuery) (journal.Listing, error) {
	listing := journal.Listing{
		Caller: l.authority.Caller, State: query.State, Agent: query.Agent, ConversationID: query.ConversationID,
		Metadata: query.Metadata, UpdatedSinceMs: query.UpdatedSinceMs, Limit: min(query.Limit, MaxLimit),
	}
	switch l.authority.Role {
	case execution.ReadRole, execution.OperateRole:
	case execution.SubmitRole:
		listing.Own = true
	default:
		return listing, forbidden("the caller has no role")
	}
	if err := checkQuery(query); err != nil {
		return listing, err
	}
	if listing.Limit == 0 {
		listing.Limit = DefaultLimit
	}
	if query.Cursor != "" {
		mark, err := readCursor(listing, query.Cursor)
		if err != nil {
			return listing, err
		}
		listing.After = &mark
	}
	return listing, nil
}

func checkQuery(query execution.ListQuery) error {
	if query.State != "" && !slices.Contains(execution.States(), query.State) {
		var known []string
		for _, state := range execution.States() {
			known = append(known, string(state))
		}
		return invalid("state", "want one of %s", strings.Join(known, ", "))
	}
	if query.ConversationID != "" {
		if _, err := execution.ParseConversationID(string(query.ConversationID)); err != nil {
			return invalid("conversationId", "no conversation has such an id").Because(err)
		}
	}
	if err := validateMetadata(execution.CreateRequest{Metadata: query.Metadata}); err != nil {
		return err
	}
	if query.UpdatedSinceMs < 0 {
		return invalid("updatedSince", "must not be negative")
	}
	if query.Limit < 0 {
		return invalid("limit", "must be at least 1")
	}
	return nil
}
