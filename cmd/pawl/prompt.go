package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/oklog/ulid/v2"

	"github.com/pawl-run/pawl/execution"
)

// decline is what is typed to refuse an answer.
const decline = "/decline"

// prompt is a question at a terminal: a text or the fields of a form for an elicitation, a decision for each call of an
// approval, a result for a call that the application carries out.
type prompt struct {
	asked     *execution.Interaction
	operation execution.OperationID
	form      *form // nil: no form
	at        int   // the call that is decided about
	decisions []execution.Decision
	hint      string
}

func newPrompt(asked *execution.Interaction) *prompt {
	return &prompt{
		asked: asked, operation: execution.OperationID("cli-" + ulid.Make().String()), form: newForm(asked.Schema),
	}
}

// text is what stands before the cursor.
func (p *prompt) text() string {
	hint := ""
	if p.hint != "" {
		hint = p.hint + "\n"
	}
	call := p.call()
	switch {
	case p.asked.Kind == execution.Approval:
		return fmt.Sprintf("%s%s\n%s %s\n%s > ", hint, clean(p.asked.Prompt), call.Name, oneLine(string(call.Arguments)), p.choices())
	case p.asked.Kind == execution.ClientToolResult:
		return fmt.Sprintf("%s%s\n%s %s\nits result (JSON or text; with ! in front, its error) > ",
			hint, clean(p.asked.Prompt), call.Name, oneLine(string(call.Arguments)))
	case p.form != nil:
		return hint + p.form.text(clean(p.asked.Prompt)) + " > "
	default:
		return hint + clean(p.asked.Prompt) + " > "
	}
}

// choices are the decisions that may be typed.
func (p *prompt) choices() string {
	if p.asked.Reason == execution.OutcomeUnknown {
		return "[a]pprove, [r]eject, [t]ake another result, or [l]ater?"
	}
	return "[a]pprove, [e]dit, [r]eject, [t]ake another result, or [l]ater?"
}

// help says what may be typed to decide.
const help = "Type a (approve), e with the arguments (e {\"amount\": 40}), r with a reason (r too expensive), t with the result " +
	"to take (t 42), or l to decide about this call later."

func (p *prompt) call() execution.InteractionCall {
	if p.at < len(p.asked.Calls) {
		return p.asked.Calls[p.at]
	}
	return execution.InteractionCall{}
}

// take reads one line. done says that the answer is complete.
func (p *prompt) take(line string) (input execution.Input, done bool) {
	line = strings.TrimSpace(line)
	words := p.asked.Kind != execution.Approval && p.asked.Kind != execution.ClientToolResult
	switch {
	case words && line == decline:
		return execution.Input{Type: execution.ElicitationResponse, RequestID: p.asked.RequestID, Declined: true}, true
	case words && p.form != nil:
		return p.fill(line)
	case line == "":
		p.hint = ""
		return execution.Input{}, false
	case p.asked.Kind == execution.ClientToolResult:
		failed := strings.HasPrefix(line, "!")
		return execution.Input{
			Type: execution.ToolResultInput, RequestID: p.asked.RequestID, CallID: p.call().CallID,
			Result: jsonOrText(strings.TrimSpace(strings.TrimPrefix(line, "!"))), IsError: failed,
		}, true
	case words:
		return execution.Input{Type: execution.ElicitationResponse, RequestID: p.asked.RequestID, Text: line}, true
	default:
		return p.decide(line)
	}
}

// fill takes one field of the form.
func (p *prompt) fill(line string) (execution.Input, bool) {
	if p.hint = p.form.take(line); p.hint != "" || !p.form.done() {
		return execution.Input{}, false
	}
	return execution.Input{
		Type: execution.ElicitationResponse, RequestID: p.asked.RequestID, Content: p.form.content(),
	}, true
}

// decide takes the decision about one call. When all calls were looked at, those that were decided are sent.
func (p *prompt) decide(line string) (execution.Input, bool) {
	decision, later, ok := decide(line)
	if !ok || decision.Decision == execution.Edit && p.asked.Reason == execution.OutcomeUnknown {
		p.hint = help
		return execution.Input{}, false
	}
	p.hint = ""
	if !later {
		decision.CallID, decision.ArgumentsHash = p.call().CallID, p.call().ArgumentsHash
		p.decisions = append(p.decisions, decision)
	}
	p.at++
	switch {
	case p.at < len(p.asked.Calls):
		return execution.Input{}, false
	case len(p.decisions) == 0:
		p.at, p.hint = 0, "Nothing was decided: the execution goes on waiting."
		return execution.Input{}, false
	default:
		return execution.Input{Type: execution.ToolApproval, RequestID: p.asked.RequestID, Decisions: p.decisions}, true
	}
}

// decide reads a decision: its first word or letter, and the rest of the line.
func decide(line string) (decision execution.Decision, later, ok bool) {
	word, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	switch strings.ToLower(word) {
	case "a", "approve", "y", "yes":
		word = "approve"
	case "r", "reject", "n", "no":
		word = "reject"
	case "e", "edit":
		word = "edit"
	case "t", "take":
		if rest == "" {
			return decision, false, false
		}
		word = "answer"
	case "l", "later":
		return decision, true, rest == ""
	default:
		return decision, false, false
	}
	decision, problem := decisionOf(word, rest)
	return decision, false, problem == ""
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
