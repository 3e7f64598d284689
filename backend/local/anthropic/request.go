package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/internal/wire"
	"github.com/pawl-run/pawl/execution"
)

const (
	longestID = 64
)

// emptySchema is the schema of a tool that is only remembered.
const emptySchema = `{"type":"object"}`

// params puts a request into the API's words.
func (m *Model) params(request local.ModelRequest) (sdk.MessageNewParams, error) {
	params := sdk.MessageNewParams{Model: m.settings.Name, MaxTokens: agent.DefaultMaxOutputTokens}
	if m.settings.MaxOutputTokens > 0 {
		params.MaxTokens = m.settings.MaxOutputTokens
	} else {
		params.MaxTokens += m.settings.ThinkingTokens
	}
	params.MaxTokens = wire.MaxOutput(params.MaxTokens, request.MaxOutputTokens)
	instructions, err := m.structure(&params, request)
	if err != nil {
		return params, err
	}
	if strings.TrimSpace(instructions) != "" {
		params.System = []sdk.TextBlockParam{{Text: instructions}}
	}
	thinks := m.think(&params, request.Messages[wire.Turn(request.Messages):])
	params.Messages = m.transcript(request.Messages, thinks)
	for _, tool := range request.Tools {
		schema := tool.Parameters
		if len(schema) == 0 {
			schema = json.RawMessage(emptySchema)
		}
		params.Tools = append(params.Tools, toolParam(tool.Name, tool.Description, schema))
	}
	if len(params.Tools) == 0 {
		remembered(&params, request.Messages)
	}
	return params, nil
}

func toolParam(name, description string, schema json.RawMessage) sdk.ToolUnionParam {
	tool := sdk.ToolParam{Name: name, InputSchema: param.Override[sdk.ToolInputSchemaParam](schema)}
	if description != "" {
		tool.Description = sdk.String(description)
	}
	return sdk.ToolUnionParam{OfTool: &tool}
}

// remembered declares the tools of the history for an agent that has none itself, and forbids to call them: the API
// refuses calls in a history whose tools it is not told of.
func remembered(params *sdk.MessageNewParams, history []execution.Message) {
	seen := map[string]bool{}
	for _, message := range history {
		for _, call := range message.ToolCalls {
			if name := wire.ToolName(call.Name); !seen[name] {
				seen[name] = true
				params.Tools = append(params.Tools, toolParam(name, "No longer available.", json.RawMessage(emptySchema)))
			}
		}
	}
	if len(seen) > 0 {
		params.ToolChoice = sdk.ToolChoiceUnionParam{OfNone: &sdk.ToolChoiceNoneParam{}}
	}
}

// structure asks for an answer that fits the schema and returns the instructions. A schema outside the subset that the API
// enforces is put there instead, because the API refuses it.
func (m *Model) structure(params *sdk.MessageNewParams, request local.ModelRequest) (string, error) {
	if len(request.OutputSchema) == 0 {
		return request.Instructions, nil
	}
	if m.settings.StructuredOutput == agent.StructuredOff || !wire.StrictSchema(request.OutputSchema) {
		return wire.WithSchema(request.Instructions, request.OutputSchema), nil
	}
	decoder := json.NewDecoder(bytes.NewReader(request.OutputSchema))
	decoder.UseNumber()
	if err := decoder.Decode(&params.OutputConfig.Format.Schema); err != nil {
		return "", fmt.Errorf("outputSchema: %w", err)
	}
	return request.Instructions, nil
}

// transcript groups the history into turns, user and assistant by turns: the results of one answer's calls are one user
// turn, together with what the user says next, and come first in it. Thinking goes back within the turn under way.
func (m *Model) transcript(history []execution.Message, thinks bool) []sdk.MessageParam {
	var out turns
	ids, turn := wire.NewIDs(validID), wire.Turn(history)
	for i, message := range history {
		switch message.Role {
		case execution.RoleUser:
			for _, piece := range wire.Pieces(message, !m.settings.NoImages) {
				if piece.IsImage() {
					out.user(sdk.ContentBlockParamUnion{OfImage: image(piece)})
				} else {
					out.user(sdk.NewTextBlock(piece.Text))
				}
			}
		case execution.RoleAssistant:
			blocks := assistant(message, ids)
			if thinks && i >= turn && len(blocks) > 0 {
				blocks = append(m.thoughts(message), blocks...)
			}
			out.assistant(blocks)
		case execution.RoleTool:
			if message.ToolResult == nil {
				continue
			}
			if id, ok := ids.Result(message.ToolResult.CallID); ok {
				out.user(result(id, message.ToolResult, !m.settings.NoImages))
			}
		}
	}
	return out
}

type turns []sdk.MessageParam

func (t *turns) user(block sdk.ContentBlockParamUnion) {
	if n := len(*t); n > 0 && (*t)[n-1].OfUser != nil {
		turn := (*t)[n-1].OfUser
		turn.Content = append(turn.Content, block)
		return
	}
	*t = append(*t, sdk.NewUserMessage(block))
}

func (t *turns) assistant(blocks []sdk.ContentBlockParamUnion) {
	if len(blocks) == 0 {
		return
	}
	if n := len(*t); n > 0 && (*t)[n-1].OfAssistant != nil {
		turn := (*t)[n-1].OfAssistant
		turn.Content = append(turn.Content, blocks...)
		return
	}
	*t = append(*t, sdk.NewAssistantMessage(blocks...))
}

func assistant(message execution.Message, ids *wire.IDs) []sdk.ContentBlockParamUnion {
	var blocks []sdk.ContentBlockParamUnion
	if strings.TrimSpace(message.Text) != "" {
		blocks = append(blocks, sdk.NewTextBlock(message.Text))
	}
	for _, call := range message.ToolCalls {
		blocks = append(blocks, sdk.NewToolUseBlock(ids.Call(call), wire.Arguments(call.Arguments), wire.ToolName(call.Name)))
	}
	return blocks
}

func image(piece wire.Piece) *sdk.ImageBlockParam {
	if piece.URL != "" {
		return &sdk.ImageBlockParam{Source: sdk.ImageBlockParamSourceUnion{OfURL: &sdk.URLImageSourceParam{URL: piece.URL}}}
	}
	return &sdk.ImageBlockParam{Source: sdk.ImageBlockParamSourceUnion{OfBase64: &sdk.Base64ImageSourceParam{
		Data: piece.Data, MediaType: sdk.Base64ImageSourceMediaType(piece.MediaType),
	}}}
}

func result(id string, result *execution.ToolResult, images bool) sdk.ContentBlockParamUnion {
	block := sdk.ToolResultBlockParam{ToolUseID: id}
	if result.IsError {
		block.IsError = sdk.Bool(true)
	}
	pieces := wire.ResultPieces(result, images && !result.IsError) // an error may hold text only
	for _, piece := range pieces {
		if piece.IsImage() {
			block.Content = append(block.Content, sdk.ToolResultBlockParamContentUnion{OfImage: image(piece)})
		} else {
			block.Content = append(block.Content, sdk.ToolResultBlockParamContentUnion{OfText: &sdk.TextBlockParam{Text: piece.Text}})
		}
	}
	if pieces != nil {
		return sdk.ContentBlockParamUnion{OfToolResult: &block}
	}
	text := wire.ResultText(result)
	if result.IsError {
		text = wire.Visible(text) // an error must say something
	}
	if strings.TrimSpace(text) != "" {
		block.Content = []sdk.ToolResultBlockParamContentUnion{{OfText: &sdk.TextBlockParam{Text: text}}}
	}
	return sdk.ContentBlockParamUnion{OfToolResult: &block}
}

func validID(id string) bool {
	return len(id) <= longestID && wire.ToolName(id) == id
}
