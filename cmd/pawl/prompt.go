package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/oklog/ulid/v2"

	"github.com/pawl-run/pawl/execution"
)

// prompt is a question at a terminal: a text for an elicitation, a decision for each call of an approval.
type prompt struct {
	asked     *execution.Interaction
	operation execution.OperationID
	decisions []execution.Decision
	hint      string
}

func newPrompt(asked *execution.Interaction) *prompt {
	return &prompt{asked: asked, operation: execution.OperationID("cli-" + ulid.Make().String())}
}

// text is what stands before the cursor.
func (p *prompt) text() string {
	hint := ""
	if p.hint != "" {
		hint = p.hint + "\n"
	}
	if p.asked.Kind != execution.Approval {
		return hint + clean(p.asked.Prompt) + " > "
	}
	call := p.call()
	return fmt.Sprintf("%s%s\n%s %s\n[a]pprove, [r]eject or [t]ake another result? > ",
		hint, clean(p.asked.Prompt), call.Name, oneLine(string(call.Arguments)))
}

func (p *prompt) call() execution.InteractionCall {
	if len(p.decisions) < len(p.asked.Calls) {
		return p.asked.Calls[len(p.decisions)]
	}
	return execution.InteractionCall{}
}

// take reads one line. done says that the answer is complete.
func (p *prompt) take(line string) (input execution.Input, done bool) {
	line = strings.TrimSpace(line)
	if line == "" {
		p.hint = ""
		return execution.Input{}, false
	}
	if p.asked.Kind != execution.Approval {
		return execution.Input{Type: execution.ElicitationResponse, RequestID: p.asked.RequestID, Text: line}, true
	}
	decision, ok := decide(line)
	if !ok {
		p.hint = "Type a (approve), r with a reason (r too expensive), or t with the result to take (t 42)."
		return execution.Input{}, false
	}
	p.hint = ""
	decision.CallID = p.call().CallID
	p.decisions = append(p.decisions, decision)
	if len(p.decisions) < len(p.asked.Calls) {
		return execution.Input{}, false
	}
	return execution.Input{Type: execution.ToolApproval, RequestID: p.asked.RequestID, Decisions: p.decisions}, true
}

// decide reads a decision: its first word or letter, and the rest of the line.
func decide(line string) (execution.Decision, bool) {
	word, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	switch strings.ToLower(word) {
	case "a", "approve", "y", "yes":
		return execution.Decision{Decision: execution.Approve}, rest == ""
	case "r", "reject", "n", "no":
		return execution.Decision{Decision: execution.Reject, Reason: rest}, true
	case "t", "take":
		result := json.RawMessage(rest)
		if !json.Valid(result) {
			text, err := json.Marshal(rest)
			if err != nil {
				return execution.Decision{}, false
			}
			result = text
		}
		return execution.Decision{Decision: execution.Answer, Answer: result}, rest != ""
	default:
		return execution.Decision{}, false
	}
}

// readLines reads lines until the input ends. A read cannot be interrupted: the goroutine ends with its input, or with
// the program.
func readLines(in io.Reader) chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(in)
		for scanner.Scan() {
			lines <- scanner.Text()
		}
	}()
	return lines
}
