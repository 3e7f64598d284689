package backend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// keep writes the run and its transcript. Without a store it does nothing.
func (r *rootRun) keep(ctx context.Context, end RootRunResult, messages []Message) error {
	store, identity := r.Request.Checkpoints, r.Request.Identity
	if store == nil {
		return nil
	}
	previous, err := store.LoadRun(ctx, identity.RunID)
	if err != nil && !errors.Is(err, ErrRunNotFound) {
		return fmt.Errorf("%w: load run %s: %w", ErrStorage, identity.RunID, err)
	}
	if err != nil {
		previous = nil
	}
	log := MaterializeMessages(messages, previous, identity, end.Steps, len(r.Request.Messages))
	record := r.record(end, previous, log)
	if err := store.Checkpoint(ctx, identity.ConversationID, log.Messages, record); err != nil {
		return fmt.Errorf("%w: keep run %s: %w", ErrStorage, identity.RunID, err)
	}
	return nil
}

// record is the run as it is to be kept. When it began, and what began it, is what was kept before.
func (r *rootRun) record(end RootRunResult, previous *RunRecord, log MessageLog) RunRecord {
	identity, now := r.Request.Identity, r.cfg.Now().Unix()
	createdAt := r.CreatedAtMs / 1000
	startedAt := createdAt
	record := RunRecord{
		RunID: identity.RunID, ConversationID: identity.ConversationID, AgentID: identity.AgentID,
		ParentRunID: identity.ParentRunID, Input: log.Input, Output: log.Output, Status: end.Durable,
		Termination: &end.Termination, RunTrace: identity.RunTrace, CreatedAt: createdAt, StartedAt: &startedAt,
		UpdatedAt: now, Steps: end.Steps, State: end.State,
	}
	if previous != nil {
		record.Request, record.CreatedAt = previous.Request, previous.CreatedAt
		if previous.StartedAt != nil {
			record.StartedAt = previous.StartedAt
		}
	}
	if end.Answer != "" {
		record.FinalOutput = &end.Answer
	}
	record.ErrorPayload = errorPayload(end.Termination)
	switch end.Durable {
	case DurableWaiting:
		record.Waiting = &WaitingState{
			Reason: WaitingReasonOf(end.StatusReason), TicketIDs: []string{}, Tickets: []WaitingTicket{},
			SinceTaskID: identity.TaskID, Message: end.StatusReason,
		}
	case DurableDone:
		record.FinishedAt = &now
		record.Outcome = &RunOutcome{
			Termination: end.Termination, FinalOutput: record.FinalOutput, ErrorPayload: record.ErrorPayload,
		}
	case DurableCreated, DurableRunning:
	}
	return record
}

// errorPayload is {"message"} of a run that stopped with an error, nil of any other.
func errorPayload(termination TerminationReason) json.RawMessage {
	if termination.Kind != TermError {
		return nil
	}
	payload, err := json.Marshal(map[string]string{"message": termination.Detail})
	if err != nil {
		panic(err) // a Go string always encodes
	}
	return payload
}
