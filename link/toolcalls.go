package link

import (
	"context"
	"slices"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// How much of the log one page of tool calls reads, however long the log is: so many events are looked through for calls,
// and so many behind them for the ends of these calls.
const (
	maxLooked = 10 * readPage
	maxAhead  = 2 * readPage
)

// ToolCalls implements RuntimeLink.
func (l *session) ToolCalls(
	ctx context.Context, id execution.ID, after execution.Sequence, limit int,
) (execution.ToolCallPage, error) {
	page := execution.ToolCallPage{ToolCalls: []execution.LedgerEntry{}, NextAfter: after}
	if limit < 1 {
		return page, invalid("limit", "must be at least 1")
	}
	row, err := l.see(ctx, "tool calls", id)
	if err != nil {
		return page, err
	}
	log := callLog{id: id, limit: min(limit, MaxLimit), read: after, more: true, ended: map[execution.CallID]callEnd{}}
	if err := l.service.lookFor(ctx, &log, maxLooked, func() bool { return len(log.calls) >= log.limit }); err != nil {
		return page, err
	}
	page.NextAfter, page.HasMore = log.read, log.more
	if log.beyond {
		page.NextAfter, page.HasMore = log.calls[len(log.calls)-1].Sequence, true
	}
	if page.Unreadable = log.upTo(page.NextAfter); len(log.calls) == 0 {
		return page, nil
	}
	stored, err := l.service.ledgerOf(ctx, &log)
	if err != nil {
		return page, err
	}
	if cut := len(stored) < len(log.calls); cut {
		log.calls = log.calls[:len(stored)]
		page.NextAfter, page.HasMore = log.calls[len(stored)-1].Sequence, true
		page.Unreadable = log.upTo(page.NextAfter)
	}
	page.ToolCalls, err = l.service.toolCalls(ctx, &row, &log, stored)
	return page, err
}

// callLog is what a part of the log says of tool calls.
type callLog struct {
	id     execution.ID
	limit  int
	calls  []execution.LedgerEntry // at most limit, with what their tool_started events say
	beyond bool                    // there is a call behind these
	ended  map[execution.CallID]callEnd
	read   execution.Sequence // how far the log was read
	more   bool               // it goes on there

	unreadable []execution.Sequence // events of any type
}

type callEnd struct {
	atMs   int64
	failed bool
}

// lookFor reads on in the log until there is enough, most events were read, or the log ends. It stops early at large ones.
func (s *Service) lookFor(ctx context.Context, log *callLog, most int, enough func() bool) error {
	for looked := 0; looked < most && log.more && !enough(); looked += readPage {
		page, err := s.gather(ctx, log.id, log.read, readPage)
		if err != nil {
			return err
		}
		for i := range page.Events {
			log.add(&page.Events[i])
		}
		log.read, log.more = page.NextAfter, page.HasMore
		if page.HasMore && len(page.Events) < readPage {
			return nil
		}
	}
	return nil
}

func (c *callLog) add(event *execution.Event) {
	switch e := event.Payload.(type) {
	case execution.ToolStarted:
		c.planned(event, e)
	case *execution.ToolStarted:
		c.planned(event, *e)
	case execution.ToolCompleted:
		c.ended[e.CallID] = callEnd{event.OccurredAtMs, e.Failed}
	case *execution.ToolCompleted:
		c.ended[e.CallID] = callEnd{event.OccurredAtMs, e.Failed}
	case *execution.UnreadableEvent:
		c.unreadable = append(c.unreadable, event.Sequence)
	}
}

// upTo are the events that cannot be read, up to the one at last.
func (c *callLog) upTo(last execution.Sequence) []execution.Sequence {
	n, exact := slices.BinarySearch(c.unreadable, last)
	if exact {
		n++
	}
	return c.unreadable[:n:n]
}

func (c *callLog) planned(event *execution.Event, e execution.ToolStarted) {
	if len(c.calls) >= c.limit {
		c.beyond = true
		return
	}
	c.calls = append(c.calls, execution.LedgerEntry{
		CallID: e.CallID, Name: e.Name, EffectID: execution.EffectID(c.id, e.CallID), State: execution.CallPlanned,
		Sequence: event.Sequence, PlannedAtMs: event.OccurredAtMs,
	})
}

// ledgerOf reads the entries of the calls, in their order; those of the first ones when all together are large.
func (s *Service) ledgerOf(ctx context.Context, log *callLog) ([]journal.LedgerEntry, error) {
	ids := make([]execution.CallID, len(log.calls))
	for i := range log.calls {
		ids[i] = log.calls[i].CallID
	}
	size := func(entry journal.LedgerEntry) int { return len(entry.Intent) + len(entry.Receipt) }
	stored, err := gatherSized(len(ids), size, func(read, limit int) ([]journal.LedgerEntry, error) {
		return s.cfg.Journal.Ledger(ctx, log.id, ids[read:read+limit])
	})
	if err != nil {
		return nil, s.problem(ctx, "tool calls "+string(log.id), err)
	}
	return stored, nil
}

// toolCalls puts together what log, ledger, row, definition and children say of the calls.
func (s *Service) toolCalls(
	ctx context.Context, row *journal.Execution, log *callLog, stored []journal.LedgerEntry,
) ([]execution.LedgerEntry, error) {
	children, err := s.childrenOf(ctx, row)
	if err != nil {
		return nil, err
	}
	classes, asked := map[string]execution.Recovery{}, unknownOf(row.View().Interaction)
	definition := s.definitionOf(ctx, row)
	for i := range log.calls {
		call := &log.calls[i]
		if _, known := classes[call.Name]; !known && definition != nil {
			classes[call.Name] = definition.RecoveryOf(call.Name)
		}
		call.Recovery, call.ChildID = classes[call.Name], children[call.CallID]
		s.fill(ctx, row.ID, call, stored[i])
		call.OutcomeUnknown = call.State == execution.CallStarted && asked[call.CallID]
	}
	return log.calls, s.addEnds(ctx, log)
}

// fill adds what the ledger holds. What cannot be read is left out.
func (s *Service) fill(ctx context.Context, id execution.ID, call *execution.LedgerEntry, stored journal.LedgerEntry) {
	if stored.State != "" {
		call.State = execution.CallState(stored.State)
	}
	planned, result, err := s.cfg.Call(stored)
	if err != nil {
		s.cfg.Logger.WarnContext(ctx, "a ledger entry cannot be read by this release",
			"execution", id, "call", call.CallID, "error", err)
	}
	call.Arguments, call.Result = planned.Arguments, result
	call.Failed = result != nil && result.IsError
}

// addEnds adds when the calls that are done were done. Of some the log says it behind the page.
func (s *Service) addEnds(ctx context.Context, log *callLog) error {
	log.limit = len(log.calls) // no more of them are wanted
	all := func() bool {
		for i := range log.calls {
			if _, known := log.ended[log.calls[i].CallID]; !known && log.calls[i].State == execution.CallDone {
				return false
			}
		}
		return true
	}
	if err := s.lookFor(ctx, log, maxAhead, all); err != nil {
		return err
	}
	for i := range log.calls {
		call := &log.calls[i]
		end, known := log.ended[call.CallID]
		if !known || call.State != execution.CallDone {
			continue
		}
		call.DoneAtMs = end.atMs
		call.Failed = call.Failed || call.Result == nil && end.failed
	}
	return nil
}

// childrenOf are the executions that the row's calls started, by call.
func (s *Service) childrenOf(ctx context.Context, row *journal.Execution) (map[execution.CallID]execution.ID, error) {
	if row.Children == 0 {
		return nil, nil
	}
	children, err := s.cfg.Journal.Children(ctx, row.ID)
	if err != nil {
		return nil, s.problem(ctx, "children of "+string(row.ID), err)
	}
	byCall := make(map[execution.CallID]execution.ID, len(children))
	for _, child := range children {
		byCall[child.Call] = child.ID
	}
	return byCall, nil
}

// unknownOf are the calls whose outcome nobody knows: those that the open question asks about.
func unknownOf(open *execution.Interaction) map[execution.CallID]bool {
	if open == nil || open.Reason != execution.OutcomeUnknown {
		return nil
	}
	asked := make(map[execution.CallID]bool, len(open.Calls))
	for _, call := range open.Calls {
		asked[call.CallID] = true
	}
	return asked
}
