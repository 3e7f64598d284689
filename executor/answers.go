package executor

import (
	"context"
	"encoding/json"

	"github.com/pawl-run/pawl/execution"
)

// inputExpired is the type of the inbox entry that the store writes when an interaction expires unanswered.
const inputExpired execution.InputType = "expired"

// takeAnswers turns the reply to the open interaction into receipts, and approved calls into outstanding ones. It returns
// false when there is no reply yet. Calls that the reply does not speak of go on asking.
func (m *machine) takeAnswers(ctx context.Context, entries map[execution.CallID]entry) (bool, error) {
	open := m.state.Batch.Asked
	input, found, err := m.reply(open.RequestID)
	if err != nil || !found {
		return false, err
	}
	expired := m.expired(open.Calls)
	for _, id := range open.Calls {
		status := m.state.Batch.call(id)
		if status == nil || status.Status != CallAsking || status.Question == nil {
			continue
		}
		if _, done := m.received[id]; done { // its receipt was written before a crash
			status.returned()
			continue
		}
		said := said{question: status.Question, input: input, expired: expired[id]}
		if err := m.takeAnswer(ctx, status, entries, said.about(entries[id].intent.Call)); err != nil {
			return false, err
		}
	}
	m.state.Batch.Asked, m.state.Status = nil, StatusRunning
	return true, nil
}

// takeAnswer carries out what a reply means for one call.
func (m *machine) takeAnswer(
	ctx context.Context, status *BatchCall, entries map[execution.CallID]entry, resolution resolution,
) error {
	switch {
	case resolution.result != nil:
		return m.receive(ctx, entries[status.CallID].intent.Call, *resolution.result)
	case resolution.arguments != nil:
		return m.edit(status, entries, resolution.arguments)
	case resolution.run:
		status.Approved = argumentsHash(entries[status.CallID].intent.Call.Arguments)
		if resolution.reply == nil { // one whose outcome is unknown still brings the answer that it had
			resolution.reply = status.Reply
		}
		status.run(resolution.reply)
	}
	return nil
}

// expired says which calls of an interaction have expired when the store says that it has: those whose time is up, or at
// least those whose time was up first. A batch of an earlier release does not know when: all have.
func (m *machine) expired(calls []execution.CallID) map[execution.CallID]bool {
	limit := m.env.NowMs()
	if first := m.firstExpiry(calls); first > limit {
		limit = first
	} else if first == 0 {
		limit = 0
	}
	out := make(map[execution.CallID]bool, len(calls))
	for _, id := range calls {
		status := m.state.Batch.call(id)
		if status == nil || status.Question == nil {
			continue
		}
		at := status.Question.ExpiresAtMs
		out[id] = limit == 0 || at > 0 && at <= limit
	}
	return out
}

// firstExpiry is when the first of the calls' questions expires; 0: never.
func (m *machine) firstExpiry(calls []execution.CallID) int64 {
	var first int64
	for _, id := range calls {
		status := m.state.Batch.call(id)
		if status == nil || status.Question == nil {
			continue
		}
		if at := status.Question.ExpiresAtMs; at > 0 && (first == 0 || at < first) {
			first = at
		}
	}
	return first
}

// reply finds the inbox entry of a request.
func (m *machine) reply(request execution.RequestID) (execution.Input, bool, error) {
	for _, entry := range m.inbox {
		if entry.RequestID != request {
			continue
		}
		var stored struct {
			execution.Input
			V int `json:"v"`
		}
		what := "reply to " + string(request)
		if err := json.Unmarshal(entry.Payload, &stored); err != nil {
			return execution.Input{}, false, unread(what, entry.Payload, messageVersion, err)
		}
		if err := checkVersion(what, stored.V, messageVersion); err != nil {
			return execution.Input{}, false, err
		}
		return stored.Input, true, nil
	}
	return execution.Input{}, false, nil
}
