package main

import (
	"encoding/json"
	"strings"

	"github.com/pawl-run/pawl/execution"
)

// reply is what a person, or a script, says to an interaction.
type reply struct {
	text            string
	fields          []string // NAME=VALUE
	content         string   // JSON
	decline         bool
	approve, reject bool
	answer          string   // in place of running the calls
	edit            string   // arguments, JSON
	decide          []string // CALL=DECISION
	result          string   // of a call that the application carries out
	failed          bool     // the result is an error
	reason          string   // of a reject
	calls           []string // empty: all calls of the interaction
	request         string   // empty: the open one
	operation       string   // empty: a new one
	json            bool     // print the view as JSON

	given func(flag string) bool // the flag is there, empty or not
}

// ways are the flags of which exactly one says what the answer is; decisions are those about calls.
var (
	ways      = []string{"content", "field", "decline", "approve", "reject", "answer", "edit", "decide", "result"}
	decisions = []string{"approve", "reject", "answer", "edit"}
)

func (r *reply) check(hasText bool) error {
	count := 0
	if hasText {
		count++
	}
	for _, way := range ways {
		if r.given(way) {
			count++
		}
	}
	about := r.given("result")
	for _, decision := range decisions {
		about = about || r.given(decision)
	}
	switch {
	case count != 1:
		return wrongUsage("give exactly one of TEXT, --field, --content, --decline, --approve, --reject, --edit, --answer, --decide " +
			"and --result")
	case r.reason != "" && !r.reject:
		return wrongUsage("--reason belongs to --reject")
	case r.failed && !r.given("result"):
		return wrongUsage("--failed belongs to --result")
	case len(r.calls) > 0 && !about:
		return wrongUsage("--call belongs to --approve, --reject, --edit, --answer and --result")
	}
	for flag, value := range map[string]string{"result": r.result, "answer": r.answer, "content": r.content} {
		if isNull(value) {
			return wrongUsage("--%s: must not be null", flag)
		}
	}
	if r.operation != "" {
		if _, err := execution.ParseOperationID(r.operation); err != nil {
			return wrongUsage("--operation: %w", err)
		}
	}
	return nil
}

// selfContained reports whether the reply can be sent without looking at what is asked.
func (r *reply) selfContained() bool {
	return r.request != "" && r.text != "" || r.given("result") && len(r.calls) == 1
}

// input turns the reply into what the API takes. asked may be nil when the reply is self-contained.
func (r *reply) input(asked *execution.Interaction) (execution.Input, error) {
	request := execution.RequestID(r.request)
	if request == "" && asked != nil {
		request = asked.RequestID
	}
	if r.given("result") {
		return r.toolResult(asked, request)
	}
	if asked == nil || asked.Kind == execution.Elicitation || asked.Kind == execution.Authentication {
		return r.response(asked, request)
	}
	if asked.Kind == execution.ClientToolResult {
		return execution.Input{}, wrongUsage("%s asks for the result of a call: use --result", request)
	}
	if asked.Kind != execution.Approval {
		return execution.Input{}, fail("%s asks for %s, which this command cannot give", request, asked.Kind)
	}
	list, err := r.decisions(asked)
	if err != nil {
		return execution.Input{}, err
	}
	if list == nil {
		return execution.Input{}, wrongUsage("%s asks for an approval: use --approve, --reject, --edit, --answer or --decide", request)
	}
	return execution.Input{Type: execution.ToolApproval, RequestID: request, Decisions: list}, nil
}

// response answers a question: by a form when there is a schema and the text, if it is one, is an object.
func (r *reply) response(asked *execution.Interaction, request execution.RequestID) (execution.Input, error) {
	input := execution.Input{Type: execution.ElicitationResponse, RequestID: request, Declined: r.decline}
	switch {
	case r.decline:
	case r.given("content"):
		if input.Content = json.RawMessage(r.content); !json.Valid(input.Content) {
			return input, wrongUsage("--content: is not JSON")
		}
	case len(r.fields) > 0:
		content := map[string]json.RawMessage{}
		for _, field := range r.fields {
			name, value, ok := strings.Cut(field, "=")
			if !ok || name == "" {
				return input, wrongUsage("--field: want NAME=VALUE, got %q", field)
			}
			content[name] = jsonOrText(value)
		}
		data, err := json.Marshal(content)
		if err != nil {
			return input, wrongUsage("--field: %w", err)
		}
		input.Content = data
	case r.text == "":
		return input, wrongUsage("%s asks for an answer, not for an approval", request)
	case asked != nil && asked.Schema != nil && isObject(r.text):
		input.Content = json.RawMessage(r.text)
	default:
		input.Text = r.text
	}
	return input, nil
}

// toolResult is the result of the call that is meant, which may be the only one that is asked about.
func (r *reply) toolResult(asked *execution.Interaction, request execution.RequestID) (execution.Input, error) {
	call := execution.CallID("")
	switch {
	case len(r.calls) == 1:
		call = execution.CallID(r.calls[0])
	case len(r.calls) == 0 && asked != nil && len(asked.Calls) == 1:
		call = asked.Calls[0].CallID
	default:
		return execution.Input{}, wrongUsage("--result is that of one call: name it with --call")
	}
	return execution.Input{
		Type: execution.ToolResultInput, RequestID: request, CallID: call, Result: jsonOrText(r.result), IsError: r.failed,
	}, nil
}

// decisions are those about calls; nil when the reply has none.
func (r *reply) decisions(asked *execution.Interaction) ([]execution.Decision, error) {
	hashes := map[execution.CallID]string{}
	for _, call := range asked.Calls {
		if r.request == "" || r.request == string(asked.RequestID) { // decided about what is seen now
			hashes[call.CallID] = call.ArgumentsHash
		}
	}
	said, err := r.said(asked.Calls)
	for i := range said {
		said[i].ArgumentsHash = hashes[said[i].CallID]
	}
	return said, err
}

func (r *reply) said(asked []execution.InteractionCall) ([]execution.Decision, error) {
	if len(r.decide) > 0 {
		return r.perCall()
	}
	var word, rest string
	switch {
	case r.approve:
		word = "approve"
	case r.reject:
		word, rest = "reject", r.reason
	case r.given("edit"):
		word, rest = "edit", r.edit
	case r.given("answer"):
		word, rest = "answer", r.answer
	default:
		return nil, nil
	}
	decision, problem := decisionOf(word, rest)
	if problem != "" {
		return nil, wrongUsage("--%s: %s", word, problem)
	}
	calls := r.calls
	if len(calls) == 0 {
		for _, call := range asked {
			calls = append(calls, string(call.CallID))
		}
	}
	if word == "edit" && len(calls) > 1 {
		return nil, wrongUsage("--edit is about one call: name it with --call")
	}
	list := make([]execution.Decision, len(calls))
	for i, call := range calls {
		list[i] = decision
		list[i].CallID = execution.CallID(call)
	}
	return list, nil
}

// perCall reads --decide.
func (r *reply) perCall() ([]execution.Decision, error) {
	list := make([]execution.Decision, len(r.decide))
	for i, text := range r.decide {
		call, said, ok := strings.Cut(text, "=")
		if !ok || call == "" {
			return nil, wrongUsage("--decide: want CALL=DECISION, got %q", text)
		}
		word, rest, _ := strings.Cut(strings.TrimSpace(said), " ")
		decision, problem := decisionOf(word, strings.TrimSpace(rest))
		if problem != "" {
			return nil, wrongUsage("--decide %s: %s", call, problem)
		}
		decision.CallID = execution.CallID(call)
		list[i] = decision
	}
	return list, nil
}

// decisionOf reads a decision of one word and what belongs to it, or says what is wrong.
func decisionOf(word, rest string) (decision execution.Decision, problem string) {
	switch word {
	case "approve":
		if rest != "" {
			return decision, "nothing follows approve"
		}
		return execution.Decision{Decision: execution.Approve}, ""
	case "reject":
		return execution.Decision{Decision: execution.Reject, Reason: rest}, ""
	case "answer":
		if isNull(rest) {
			return decision, "the answer must not be null"
		}
		return execution.Decision{Decision: execution.Answer, Answer: jsonOrText(rest)}, ""
	case "edit":
		if !isObject(rest) {
			return decision, "the arguments must be a JSON object"
		}
		return execution.Decision{Decision: execution.Edit, Arguments: json.RawMessage(rest)}, ""
	default:
		return decision, "want approve, reject, edit or answer"
	}
}

// jsonOrText is the value that a person typed: JSON, else the JSON string of the text.
func jsonOrText(value string) json.RawMessage {
	if json.Valid([]byte(value)) {
		return json.RawMessage(value)
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // a Go string always encodes
	}
	return text
}

func isNull(value string) bool { return strings.TrimSpace(value) == "null" }

func isObject(value string) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal([]byte(value), &object) == nil && object != nil
}
