package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/internal/wire"
	"github.com/pawl-run/pawl/execution"
)

const (
	// longestID is how long a call's id may be; OpenAI itself refuses longer ones.
	longestID = 40
	// answerName names the schema of the answer.
	answerName = "answer"
)

// params puts a request into the API's words.
func (m *Model) params(request local.ModelRequest) (sdk.ChatCompletionNewParams, error) {
	params := sdk.ChatCompletionNewParams{
		Model:         m.settings.Name,
		StreamOptions: sdk.ChatCompletionStreamOptionsParam{IncludeUsage: sdk.Bool(true)},
	}
	if limit := wire.MaxOutput(m.settings.MaxOutputTokens, request.MaxOutputTokens); limit > 0 {
		if m.asksOpenAI() {
			params.MaxCompletionTokens = sdk.Int(limit)
		} else {
			params.MaxTokens = sdk.Int(limit)
		}
	}
	if t := m.settings.Temperature; t != nil {
		params.Temperature = sdk.Float(*t)
	}
	if p := m.settings.TopP; p != nil {
		params.TopP = sdk.Float(*p)
	}
	instructions := m.structure(&params, request)
	params.Messages = messages(instructions, request.Messages)
	for _, tool := range request.Tools {
		definition := shared.FunctionDefinitionParam{Name: tool.Name}
		if tool.Description != "" {
			definition.Description = sdk.String(tool.Description)
		}
		if len(tool.Parameters) > 0 {
			decoder := json.NewDecoder(bytes.NewReader(tool.Parameters))
			decoder.UseNumber()
			if err := decoder.Decode(&definition.Parameters); err != nil {
				return params, fmt.Errorf("tool %q: its parameters are no JSON object", tool.Name)
			}
		}
		params.Tools = append(params.Tools, sdk.ChatCompletionFunctionTool(definition))
	}
	return params, nil
}

// structure asks for an answer that fits the schema and returns the instructions, with the schema in them when the API is
// not told of it.
func (m *Model) structure(params *sdk.ChatCompletionNewParams, request local.ModelRequest) string {
	if len(request.OutputSchema) == 0 {
		return request.Instructions
	}
	switch m.settings.StructuredOutput {
	case agent.StructuredOff:
	case agent.StructuredJSON:
		params.ResponseFormat.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
	default:
		format := shared.ResponseFormatJSONSchemaParam{JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
			Name: answerName, Schema: request.OutputSchema,
		}}
		if wire.StrictSchema(request.OutputSchema) { // a schema outside the subset is refused when strict
			format.JSONSchema.Strict = sdk.Bool(true)
		}
		params.ResponseFormat.OfJSONSchema = &format
		return request.Instructions
	}
	return wire.WithSchema(request.Instructions, request.OutputSchema)
}

func messages(instructions string, history []execution.Message) []sdk.ChatCompletionMessageParamUnion {
	out := make([]sdk.ChatCompletionMessageParamUnion, 0, len(history)+1)
	if strings.TrimSpace(instructions) != "" {
		out = append(out, sdk.SystemMessage(instructions))
	}
	ids := wire.NewIDs(validID)
	for _, message := range history {
		switch message.Role {
		case execution.RoleUser:
			out = append(out, sdk.UserMessage(wire.Visible(message.Text)))
		case execution.RoleAssistant:
			if strings.TrimSpace(message.Text) != "" || len(message.ToolCalls) > 0 {
				out = append(out, assistant(message, ids))
			}
		case execution.RoleTool:
			if message.ToolResult == nil {
				continue
			}
			if id, ok := ids.Result(message.ToolResult.CallID); ok {
				out = append(out, sdk.ToolMessage(resultText(message.ToolResult), id))
			}
		}
	}
	return out
}

func assistant(message execution.Message, ids *wire.IDs) sdk.ChatCompletionMessageParamUnion {
	var said sdk.ChatCompletionAssistantMessageParam
	if strings.TrimSpace(message.Text) != "" {
		said.Content.OfString = param.NewOpt(message.Text)
	}
	for _, call := range message.ToolCalls {
		said.ToolCalls = append(said.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{
				ID: ids.Call(call),
				Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{
					Name: wire.ToolName(call.Name), Arguments: string(wire.Arguments(call.Arguments)),
				},
			},
		})
	}
	return sdk.ChatCompletionMessageParamUnion{OfAssistant: &said}
}

// resultText marks errors in words, because the API has no other way.
func resultText(result *execution.ToolResult) string {
	text := wire.Visible(wire.ResultText(result))
	if result.IsError {
		return "Error: " + text
	}
	return text
}

func validID(id string) bool {
	if len(id) > longestID {
		return false
	}
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return false
		}
	}
	return true
}
