package a2a

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/execution"
)

// What answers a question of each kind. Whoever answers otherwise is told so.
const (
	wantWords    = "answer with text"
	wantForm     = `answer with data that fits the question's schema, or with data {"declined": true}`
	wantDecision = `answer with data {"decisions": [{"callId": …, "decision": "approve|reject|edit|answer", …}]}, or with the one word approve or reject for all calls`
	wantResult   = `answer with data {"callId": …, "result": …, "isError": …}`
)

// answerTo is the input that a message is for an open question. The error says what is wanted.
func answerTo(open execution.Interaction, c content) (execution.Input, error) {
	data := c.data
	if request, named := data["requestId"]; named {
		if request != string(open.RequestID) {
			return execution.Input{}, cannot("the message answers %v, and what is asked now is %s", request, open.RequestID)
		}
		data = without(data, "requestId")
	}
	switch open.Kind {
	case execution.Approval:
		return decide(open, c.text, data)
	case execution.ClientToolResult:
		return result(open, c.text, data)
	case execution.Elicitation, execution.Authentication:
		return reply(open, c.text, data)
	default:
		return execution.Input{}, cannot("a question of kind %s cannot be answered here", open.Kind)
	}
}

func without(data map[string]any, name string) map[string]any {
	rest := make(map[string]any, len(data))
	for key, value := range data {
		if key != name {
			rest[key] = value
		}
	}
	return rest
}

// reply answers in words, or with the data that a schema asks for.
func reply(open execution.Interaction, text string, data map[string]any) (execution.Input, error) {
	input := execution.Input{Type: execution.ElicitationResponse, RequestID: open.RequestID}
	declined, refuses := data["declined"].(bool)
	switch {
	case refuses && declined && len(data) == 1 && text == "":
		input.Declined = true
	case data == nil && text != "":
		input.Text = text // one that fits a schema of a single text is taken for it
	case open.Schema != nil && data != nil && text == "":
		encoded, err := json.Marshal(data)
		if err != nil {
			return input, err
		}
		input.Content = encoded
	case open.Schema != nil:
		return input, bad("message.parts", wantForm)
	default:
		return input, bad("message.parts", wantWords)
	}
	return input, nil
}

// decide approves or rejects calls.
func decide(open execution.Interaction, text string, data map[string]any) (execution.Input, error) {
	input := execution.Input{Type: execution.ToolApproval, RequestID: open.RequestID}
	switch {
	case data != nil && text == "":
		var given struct {
			Decisions []execution.Decision `json:"decisions"`
		}
		if err := strictly(data, &given); err != nil {
			return input, bad("message.parts", "%s: %v", wantDecision, err)
		}
		input.Decisions = given.Decisions
		return input, nil
	case data == nil:
		word := execution.DecisionKind(strings.ToLower(strings.Trim(text, " \t\r\n.!")))
		if word == execution.Approve || word == execution.Reject {
			for _, call := range open.Calls {
				input.Decisions = append(input.Decisions, execution.Decision{
					CallID: call.CallID, Decision: word, ArgumentsHash: call.ArgumentsHash,
				})
			}
			return input, nil
		}
	}
	return input, bad("message.parts", wantDecision)
}

// result gives what a call returned that whoever asked carries out.
func result(open execution.Interaction, text string, data map[string]any) (execution.Input, error) {
	input := execution.Input{Type: execution.ToolResultInput, RequestID: open.RequestID}
	var given struct {
		CallID  execution.CallID `json:"callId"`
		Result  json.RawMessage  `json:"result"`
		IsError bool             `json:"isError"`
	}
	if data == nil || text != "" {
		return input, bad("message.parts", wantResult)
	}
	if err := strictly(data, &given); err != nil {
		return input, bad("message.parts", "%s: %v", wantResult, err)
	}
	if given.CallID == "" && len(open.Calls) == 1 {
		given.CallID = open.Calls[0].CallID
	}
	if given.CallID == "" || given.Result == nil {
		return input, bad("message.parts", wantResult)
	}
	input.CallID, input.Result, input.IsError = given.CallID, given.Result, given.IsError
	return input, nil
}

// strictly decodes data whose every field must be known.
func strictly(data map[string]any, out any) error {
	encoded, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encode data: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.DisallowUnknownFields()
	return decoder.Decode(out)
}
