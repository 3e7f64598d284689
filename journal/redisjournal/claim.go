package redisjournal

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Claim grants the right to run the next node. See journal.Steps.
func (s *Store) Claim(ctx context.Context, request journal.ClaimRequest) (journal.Claimed, error) {
	claimed, err := s.claim(ctx, request)
	if err != nil {
		return journal.Claimed{}, refusal("claim", string(request.Execution), err)
	}
	return claimed, nil
}

func (s *Store) claim(ctx context.Context, request journal.ClaimRequest) (journal.Claimed, error) {
	if err := journal.CheckClaim(request); err != nil {
		return journal.Claimed{}, err
	}
	if err := checkID(request.Execution); err != nil {
		return journal.Claimed{}, err
	}
	if s.memory.above(ctx, s.keys.row(request.Execution), claimCeiling) {
		return journal.Claimed{}, &journal.ClaimRefused{Reason: journal.ClaimOverloaded, RetryAfter: memorySampleInterval}
	}
	r, err := newReply(s.run(ctx, s.scripts.claim, request.Execution, claimArguments(request)...))
	if err != nil {
		return journal.Claimed{}, err
	}
	if r.text(0) != "granted" {
		refused := &journal.ClaimRefused{
			Reason:     journal.ClaimReason(r.text(1)),
			RetryAfter: time.Duration(r.number(2)) * time.Millisecond,
			Tasks:      r.tasks(3),
		}
		if r.err != nil {
			return journal.Claimed{}, r.err
		}
		return journal.Claimed{}, refused
	}
	return decodeClaimed(r, request.Execution)
}

func claimArguments(request journal.ClaimRequest) []any {
	step := ""
	if request.Step != nil {
		step = strconv.FormatUint(uint64(*request.Step), 10)
	}
	return []any{
		step, string(request.Worker), request.Nonce, request.TTL.Milliseconds(), request.MaxReclaims,
		max(0, request.KnownMessages), allowed(journal.MoveClaim), bit(request.History),
	}
}

// What claim.lua returns of a granted claim, behind "granted".
const (
	claimedFence = iota + 1
	claimedReclaimed
	claimedNow
	claimedRow
	claimedSequence
	claimedWorker
	claimedExpiry
	claimedCheckpoint
	claimedCalls
	claimedLedger
	claimedInbox
	claimedMessages
	claimedLength
)

func decodeClaimed(r *reply, id execution.ID) (journal.Claimed, error) {
	claimed := journal.Claimed{
		Fence: journal.Fence(r.text(claimedFence)), Reclaimed: r.text(claimedReclaimed) != "", NowMs: r.number(claimedNow),
		Execution: r.claimedRow(id), Checkpoint: r.checkpoint(claimedCheckpoint),
	}
	claimed.Ledger = []journal.LedgerEntry{}
	if r.has(claimedCalls) {
		var calls []execution.CallID
		for _, call := range r.list(claimedCalls) {
			name, _ := call.(string)
			calls = append(calls, execution.CallID(name))
		}
		claimed.Ledger = r.ledger(claimedLedger, calls)
	}
	inbox := r.texts(claimedInbox)
	for i := 0; i+1 < len(inbox); i += 2 {
		claimed.Inbox = append(claimed.Inbox, journal.InboxEntry{
			RequestID: execution.RequestID(inbox[i]), Payload: []byte(inbox[i+1]),
		})
	}
	slices.SortFunc(claimed.Inbox, func(a, b journal.InboxEntry) int {
		return strings.Compare(string(a.RequestID), string(b.RequestID))
	})
	if r.has(claimedMessages) {
		claimed.Messages, claimed.HistoryLength = r.blobs(claimedMessages), int(r.number(claimedLength))
	}
	return claimed, r.err
}

// claimedRow reads the part of the row that comes with a claim, in the order in which the script lists it.
func (r *reply) claimedRow(id execution.ID) journal.Execution {
	fields := &reply{items: r.list(claimedRow)}
	row := journal.Execution{
		ID:             id,
		ConversationID: journal.NamedConversation(fields.text(0)),
		Definition:     longHash(fields.text(1)),
		Queue:          fields.text(2),
		State:          execution.State(fields.text(3)),
		Node:           fields.text(4),
		Step:           execution.Step(fields.count(5)),
		Usage:          fields.usage(6),
		Wake:           execution.Wake(fields.count(7)),
		Attempts:       int(fields.count(8)),
		Reclaims:       int(fields.count(9)),
		Active:         true,
		StartedAtMs:    int64(fields.count(10)),
		DeadlineAtMs:   int64(fields.count(11)),
		LastSequence:   execution.Sequence(r.number(claimedSequence)),
		Claim: &journal.Claim{
			Worker: journal.WorkerID(r.text(claimedWorker)), Fence: journal.Fence(r.text(claimedFence)),
			ExpiresAtMs: r.number(claimedExpiry),
		},
	}
	if overrides := fields.text(12); overrides != "" {
		row.Overrides = []byte(overrides)
	}
	if cleanup := fields.text(13); cleanup != "" {
		row.Cleanup = []byte(cleanup)
	}
	if fields.has(14) {
		row.Delegation = &journal.Delegation{
			LeaseRef: journal.LeaseRef(fields.text(14)), Revision: fields.count(15), ExpiresAtSeconds: fields.count(16),
		}
	}
	if fields.err != nil && r.err == nil {
		r.err = fields.err
	}
	return row
}
