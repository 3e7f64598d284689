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

// The places in the quarantine's texts that the claim script fills.
const (
	nodePlace    = "@NODE@"
	workersPlace = "@WORKERS@"
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
	args, err := claimArguments(request)
	if err != nil {
		return journal.Claimed{}, err
	}
	r, err := newReply(s.run(ctx, s.scripts.claim, request.Execution, args...))
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
	return decodeClaimed(r)
}

func claimArguments(request journal.ClaimRequest) ([]any, error) {
	step := ""
	if request.Step != nil {
		step = strconv.FormatUint(uint64(*request.Step), 10)
	}
	var e encoder
	quarantine := journal.QuarantineSuspension(nodePlace, []journal.WorkerID{workersPlace})
	args := []any{
		step, string(request.Worker), request.Nonce, request.TTL.Milliseconds(), request.MaxReclaims,
		max(0, request.KnownMessages), allowed(journal.MoveClaim), e.event(execution.ExecutionStarted{}),
		e.event(journal.ReclaimedWarning()), quarantine.Detail, e.event(journal.SuspendedEvent(quarantine)),
		journal.ClaimHistoryBytes,
	}
	return args, e.err
}

func decodeClaimed(r *reply) (journal.Claimed, error) {
	claimed := journal.Claimed{
		Fence: journal.Fence(r.text(1)), Reclaimed: r.flag(2), NowMs: r.number(3), Execution: r.row(4),
		Checkpoint: []byte(r.text(5)),
	}
	var calls []execution.CallID
	for _, call := range r.texts(6) {
		calls = append(calls, execution.CallID(call))
	}
	claimed.Ledger = r.ledger(7, calls)
	for request, payload := range r.pairs(8) {
		claimed.Inbox = append(claimed.Inbox, journal.InboxEntry{
			RequestID: execution.RequestID(request), Payload: []byte(payload),
		})
	}
	slices.SortFunc(claimed.Inbox, func(a, b journal.InboxEntry) int {
		return strings.Compare(string(a.RequestID), string(b.RequestID))
	})
	if r.has(9) {
		claimed.Messages, claimed.HistoryLength = r.blobs(9), int(r.number(10))
	}
	return claimed, r.err
}
