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
		Schema: q.Schema, Resume: q.Resume, State: q.State,
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
		RequestID: m.requestID(group[0].CallID), Kind: head.Kind, Reason: head.Reason, Schema: head.Schema,
	}
	asked := &Asked{RequestID: interaction.RequestID}
	for _, call := range group {
		asked.Calls = append(asked.Calls, call.CallID)
		arguments := entries[call.CallID].intent.Call.Arguments
		interaction.Calls = append(interaction.Calls, execution.InteractionCall{
			CallID: call.CallID, Name: call.Name, Arguments: arguments, ArgumentsHash: argumentsHash(arguments),
		})
	}
	interaction.Prompt = promptOf(group)
	wait := m.setExpiry(interaction, group)
	m.state.Batch.Asked, m.state.Status = asked, StatusWaiting
	a := m.next(ToolReturn)
	a.then = journal.Then{
		Kind: journal.ThenPark, Interaction: interaction, WaitKind: execution.WaitInput, Wait: wait,
		Await: []execution.RequestID{interaction.RequestID},
	}
	if head.Kind == execution.Authentication {
		a.then.WaitKind = execution.WaitAuth
	}
	return a, nil
}

// maxNamed bounds the calls that a prompt names; the interaction lists all of them.
const maxNamed = 10

// promptOf is what a person reads of a group: what was wrong before, then the questions, those about approvals as one.
func promptOf(group []BatchCall) string {
	var lines, names []string
	for _, call := range group {
		if call.Question.Note != "" {
			lines = append(lines, call.Question.Note)
		}
	}
	for _, call := range group {
		if call.Question.Gate && len(group) > 1 {
			names = append(names, call.Name)
		} else {
			lines = append(lines, call.Question.Prompt)
		}
	}
	if left := len(names) - maxNamed; left > 0 {
		names = append(names[:maxNamed], fmt.Sprintf("%d more", left))
	}
	if len(names) > 0 {
		lines = append(lines, fmt.Sprintf("May these calls be made: %s? Each may be approved, edited, answered or rejected.",
			strings.Join(names, ", ")))
	}
	return strings.Join(lines, "\n")
}

// setExpiry gives the interaction the expiry of the question whose time is up first, and begins the time of those that
// are asked first now. It returns how long that is, 0 for never.
func (m *machine) setExpiry(interaction *execution.Interaction, group []BatchCall) time.Duration {
	now := m.env.NowMs()
	for _, call := range group {
		question := m.state.Batch.call(call.CallID).Question // the state's own
		if question.ExpiresAfterMs == 0 {
			continue
		}
		if question.ExpiresAtMs == 0 {
			question.ExpiresAtMs = now + question.ExpiresAfterMs
		}
		if question.ExpiresAtMs <= now && question.OnExpiry == execution.ExpireSuspend {
			continue // it was suspended, and somebody took it up again
		}
		if interaction.ExpiresAtMs == 0 || question.ExpiresAtMs < interaction.ExpiresAtMs {
			interaction.ExpiresAtMs, interaction.OnExpiry = question.ExpiresAtMs, question.OnExpiry
		}
	}
	if interaction.ExpiresAtMs == 0 {
		return 0
	}
	return time.Duration(max(1, interaction.ExpiresAtMs-now)) * time.Millisecond
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

// nextQuestions picks what is asked next, all calls of one interaction: the approvals about unknown outcomes together,
// the other approvals together, then elicitations one by one, the results that the client owes together, and
// authentications one by one. At least one call must be asking.
func (m *machine) nextQuestions() []BatchCall {
	var unknown, last []BatchCall
	byKind := map[execution.InteractionKind][]BatchCall{}
	for _, call := range m.state.Batch.Calls {
		if call.Status != CallAsking || call.Question == nil {
			continue
		}
		last = []BatchCall{call}
		if call.Question.Reason == execution.OutcomeUnknown {
			unknown = append(unknown, call)
		} else {
			byKind[call.Question.Kind] = append(byKind[call.Question.Kind], call)
		}
	}
	if len(unknown) > 0 {
		return unknown
	}
	for _, kind := range []execution.InteractionKind{
		execution.Approval, execution.Elicitation, execution.ClientToolResult, execution.Authentication,
	} {
		group := byKind[kind]
		switch {
		case len(group) == 0:
		case kind == execution.Elicitation || kind == execution.Authentication:
			return group[:1]
		default:
			return group
		}
	}
	return last
}
