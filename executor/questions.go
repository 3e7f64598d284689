package executor

import (
	"fmt"
	"strings"
	"time"

	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func asked(q *local.Question) *Question {
	return &Question{
		Kind: q.Kind, Prompt: q.Prompt, ExpiresAfterMs: q.ExpiresAfter.Milliseconds(), OnExpiry: q.OnExpiry,
	}
}

// park commits tool_return waiting for the batch's next interaction.
func (m *machine) park() (advance, error) {
	entries, err := m.entries()
	if err != nil {
		return advance{}, err
	}
	group := m.nextQuestions()
	head := group[0].Question
	interaction := &execution.Interaction{
		RequestID: m.requestID(group[0].CallID), Kind: head.Kind, Reason: head.Reason, OnExpiry: head.OnExpiry,
	}
	prompts := make([]string, len(group))
	asked := &Asked{RequestID: interaction.RequestID}
	for i, call := range group {
		prompts[i] = call.Question.Prompt
		asked.Calls = append(asked.Calls, call.CallID)
		interaction.Calls = append(interaction.Calls, execution.InteractionCall{
			CallID: call.CallID, Name: call.Name, Arguments: entries[call.CallID].intent.Call.Arguments,
		})
	}
	interaction.Prompt = strings.Join(prompts, "\n")
	if head.ExpiresAfterMs > 0 {
		interaction.ExpiresAtMs = m.env.NowMs() + head.ExpiresAfterMs
	}
	m.state.Batch.Asked, m.state.Status = asked, StatusWaiting
	a := m.next(ToolReturn)
	a.then = journal.Then{
		Kind: journal.ThenPark, Interaction: interaction, Await: interaction.RequestID, WaitKind: execution.WaitInput,
		Wait: time.Duration(head.ExpiresAfterMs) * time.Millisecond,
	}
	if head.Kind == execution.Authentication {
		a.then.WaitKind = execution.WaitAuth
	}
	return a, nil
}

// requestID is unique within the execution: a boundary asks one thing.
func (m *machine) requestID(call execution.CallID) execution.RequestID {
	index := 0
	for i := range m.state.Batch.Calls {
		if m.state.Batch.Calls[i].CallID == call {
			index = i
		}
	}
	return execution.RequestID(fmt.Sprintf("req_%d_%d", m.step+1, index))
}

// nextQuestions picks what is asked next: the approvals about unknown outcomes together, then the other kinds in their
// order, one by one. At least one call must be asking.
func (m *machine) nextQuestions() []BatchCall {
	var unknown []BatchCall
	byKind := map[execution.InteractionKind]BatchCall{}
	var last BatchCall
	for _, call := range m.state.Batch.Calls {
		if call.Status != CallAsking || call.Question == nil {
			continue
		}
		last = call
		if call.Question.Reason == execution.OutcomeUnknown {
			unknown = append(unknown, call)
		} else if _, taken := byKind[call.Question.Kind]; !taken {
			byKind[call.Question.Kind] = call
		}
	}
	if len(unknown) > 0 {
		return unknown
	}
	for _, kind := range []execution.InteractionKind{
		execution.Approval, execution.Elicitation, execution.ClientToolResult, execution.Authentication,
	} {
		if call, ok := byKind[kind]; ok {
			return []BatchCall{call}
		}
	}
	return []BatchCall{last}
}
