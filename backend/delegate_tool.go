package backend

import (
	"errors"
	"strings"

	"github.com/pawl-run/pawl/execution"
)

const (
	agentToolPrefix      = "agent_run_"
	delegateRunTicket    = "delegate_run:"
	delegateCallTicket   = "delegate_tool:"
	delegateFailedPrefix = "the agent's run ended: "
)

// ErrBlankPrompt reports a call of an agent that asks it nothing.
var ErrBlankPrompt = errors.New("prompt is blank")

// AgentToolName is the name of the tool that runs the agent.
func AgentToolName(agentID string) string { return agentToolPrefix + agentID }

// CheckPrompt refuses with ErrBlankPrompt what asks an agent nothing.
func CheckPrompt(prompt string) error {
	if strings.TrimSpace(prompt) == "" {
		return ErrBlankPrompt
	}
	return nil
}

// AgentToolAnswer is what a delegate's run means for the call that began it: the call waits for Ticket, or it has a result.
type AgentToolAnswer struct {
	Ticket  *WaitingTicket // set while the delegate waits
	Text    string
	IsError bool
}

// AnswerOfDelegate is the answer to the call. A delegate that waits leaves a ticket for a decision that is then the
// result; one that failed, was canceled or took too long is an error that the model reads.
func AnswerOfDelegate(call execution.CallID, result RunResult) AgentToolAnswer {
	switch result.Status.Kind {
	case StatusWaitingInput, StatusWaitingAuth, StatusSuspended:
		id := delegateCallTicket + string(call)
		if result.RunID != "" {
			id = delegateRunTicket + result.RunID
		}
		return AgentToolAnswer{Ticket: &WaitingTicket{ID: id, Mode: DecisionAsResult}, Text: result.Status.String()}
	case StatusCompleted:
		if text := result.Output.TextOr(result.Response); text != nil {
			return AgentToolAnswer{Text: *text}
		}
		return AgentToolAnswer{}
	case StatusFailed, StatusCanceled, StatusTimeout:
	}
	return AgentToolAnswer{Text: delegateFailedPrefix + result.Status.String(), IsError: true}
}
