package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
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
	params.Messages = m.messages(instructions, request.Messages)
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

// messages puts the history into the API's words. It takes no images in a tool's message: those of results follow in a
// user's message, behind the last result of their batch.
func (m *Model) messages(instructions string, history []execution.Message) []sdk.ChatCompletionMessageParamUnion {
	out := make([]sdk.ChatCompletionMessageParamUnion, 0, len(history)+1)
	if strings.TrimSpace(instructions) != "" {
		out = append(out, sdk.SystemMessage(instructions))
	}
	var images []wire.Piece
	ids, turn := wire.NewIDs(validID), wire.Turn(history)
	for i, message := range history {
		if message.Role != execution.RoleTool && len(images) > 0 {
			out, images = append(out, user(images)), nil
		}
		switch message.Role {
		case execution.RoleUser:
			out = append(out, user(wire.Pieces(message, !m.settings.NoImages)))
		case execution.RoleAssistant:
			if strings.TrimSpace(message.Text) != "" || len(message.ToolCalls) > 0 {
				out = append(out, m.assistant(message, ids, i >= turn))
			}
		case execution.RoleTool:
			if message.ToolResult == nil {
				continue
			}
			if id, ok := ids.Result(message.ToolResult.CallID); ok {
				text, more := m.resultText(message.ToolResult)
				out, images = append(out, sdk.ToolMessage(text, id)), append(images, more...)
			}
		}
	}
	if len(images) > 0 {
		out = append(out, user(images))
	}
	return out
}

// user is a user's message: a string when it is text alone, which is all that some servers take.
func user(pieces []wire.Piece) sdk.ChatCompletionMessageParamUnion {
	if !slices.ContainsFunc(pieces, wire.Piece.IsImage) {
		texts := make([]string, len(pieces))
		for i, piece := range pieces {
			texts[i] = piece.Text
		}
		return sdk.UserMessage(strings.Join(texts, "\n"))
	}
	parts := make([]sdk.ChatCompletionContentPartUnionParam, len(pieces))
	for i, piece := range pieces {
		if piece.IsImage() {
			parts[i] = sdk.ImageContentPart(sdk.ChatCompletionContentPartImageImageURLParam{URL: piece.DataURL()})
		} else {
			parts[i] = sdk.TextContentPart(piece.Text)
		}
	}
	return sdk.UserMessage(parts)
}

func (m *Model) assistant(message execution.Message, ids *wire.IDs, current bool) sdk.ChatCompletionMessageParamUnion {
	var said sdk.ChatCompletionAssistantMessageParam
	if current {
		m.giveBack(&said, message)
	}
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

// resultText is a result's text and its images, each with a line in front that says whose it is. Errors are marked in
// words, because the API has no other way.
func (m *Model) resultText(result *execution.ToolResult) (text string, images []wire.Piece) {
	if pieces := wire.ResultPieces(result, !m.settings.NoImages); pieces != nil {
		lines := make([]string, len(pieces))
		for i, piece := range pieces {
			lines[i] = piece.Text
			if piece.IsImage() {
				lines[i] = fmt.Sprintf("[image %d, which follows]", i+1)
				images = append(images, wire.Piece{Text: fmt.Sprintf("Image %d of the result of %s:", i+1, wire.ToolName(result.Name))}, piece)
			}
		}
		text = strings.Join(lines, "\n")
	} else {
		text = wire.Visible(wire.ResultText(result))
	}
	if result.IsError {
		return "Error: " + text, images
	}
	return text, images
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
