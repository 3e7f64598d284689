package modelserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

type anthropicRequest struct {
	Model         string             `json:"model"`
	MaxTokens     *int64             `json:"max_tokens"`
	Messages      []anthropicMessage `json:"messages"`
	System        []anthropicBlock   `json:"system"`
	Tools         []anthropicTool    `json:"tools"`
	ToolChoice    *anthropicChoice   `json:"tool_choice"`
	Stream        bool               `json:"stream"`
	Temperature   *float64           `json:"temperature"`
	TopP          *float64           `json:"top_p"`
	Metadata      json.RawMessage    `json:"metadata"`
	Thinking      json.RawMessage    `json:"thinking"`
	OutputConfig  json.RawMessage    `json:"output_config"`
	StopSequences []string           `json:"stop_sequences"`
}

type anthropicTool struct {
	Type         string          `json:"type"`
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"input_schema"`
	CacheControl json.RawMessage `json:"cache_control"`
}

type anthropicChoice struct {
	Type                   string `json:"type"`
	Name                   string `json:"name"`
	DisableParallelToolUse *bool  `json:"disable_parallel_tool_use"`
}

type anthropicMessage struct {
	Role    string           `json:"role"`
	Content []anthropicBlock `json:"content"`
}

// anthropicBlock is any block; Type says which of the fields belong to it.
type anthropicBlock struct {
	Type         string           `json:"type"`
	Text         *string          `json:"text"`
	ID           string           `json:"id"`
	Name         string           `json:"name"`
	Input        json.RawMessage  `json:"input"`
	ToolUseID    string           `json:"tool_use_id"`
	Content      []anthropicBlock `json:"content"`
	IsError      bool             `json:"is_error"`
	Source       json.RawMessage  `json:"source"`
	Thinking     *string          `json:"thinking"`
	Signature    string           `json:"signature"`
	Data         string           `json:"data"`
	CacheControl json.RawMessage  `json:"cache_control"`
}

var (
	anthropicID   = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	anthropicName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
)

// CheckAnthropic says why the API would answer 400 to the body of a messages request, in its words; nil when it would not.
func CheckAnthropic(body []byte) error {
	var request anthropicRequest
	if err := decode(body, &request); err != nil {
		return err
	}
	if err := request.checkFields(); err != nil {
		return err
	}
	ids := map[string]bool{}
	for i, message := range request.Messages {
		if want := []string{"user", "assistant"}[i%2]; message.Role != want {
			return fmt.Errorf("messages.%d: roles must alternate between \"user\" and \"assistant\", but found \"%s\"", i, message.Role)
		}
		if len(message.Content) == 0 {
			return fmt.Errorf("messages.%d: all messages must have non-empty content", i)
		}
		for j, block := range message.Content {
			if err := block.check(message.Role, ids); err != nil {
				return fmt.Errorf("messages.%d.content.%d: %w", i, j, err)
			}
		}
	}
	if err := request.checkThinking(); err != nil {
		return err
	}
	return checkToolBlocks(request.Messages)
}

// checkThinking checks what goes with thinking: room for the answer, no other sampling, and the thinking of the turn under
// way in front of its calls.
func (r *anthropicRequest) checkThinking() error {
	var thinking struct {
		Type   string `json:"type"`
		Budget int64  `json:"budget_tokens"`
	}
	if len(r.Thinking) > 0 {
		if err := decode(r.Thinking, &thinking); err != nil {
			return err
		}
	}
	switch {
	case thinking.Type != "enabled":
		return nil
	case thinking.Budget < 1024:
		return errors.New("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
	case thinking.Budget >= *r.MaxTokens:
		return errors.New("`max_tokens` must be greater than `thinking.budget_tokens`")
	case r.Temperature != nil && *r.Temperature != 1:
		return errors.New("`temperature` may only be set to 1 when thinking is enabled")
	}
	for i := len(r.Messages) - 1; i >= 0; i-- {
		first := r.Messages[i].Content[0].Type
		if r.Messages[i].Role == "user" && r.Messages[i].says() {
			return nil
		}
		if r.Messages[i].Role == "assistant" && first != "thinking" && first != "redacted_thinking" {
			return fmt.Errorf("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`", i, first)
		}
	}
	return nil
}

// says reports whether a user's message holds more than results.
func (m anthropicMessage) says() bool {
	for _, block := range m.Content {
		if block.Type != "tool_result" {
			return true
		}
	}
	return false
}

func (r *anthropicRequest) checkFields() error {
	switch {
	case r.Model == "":
		return errors.New("model: Field required")
	case r.MaxTokens == nil:
		return errors.New("max_tokens: Field required")
	case *r.MaxTokens < 1:
		return errors.New("max_tokens: Input should be greater than or equal to 1")
	case len(r.Messages) == 0:
		return errors.New("messages: at least one message is required")
	case r.ToolChoice != nil && len(r.Tools) == 0:
		return errors.New("tool_choice may only be specified while providing tools")
	}
	names := map[string]bool{}
	for i, tool := range r.Tools {
		switch {
		case !anthropicName.MatchString(tool.Name):
			return fmt.Errorf("tools.%d.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'", i)
		case names[tool.Name]:
			return errors.New("tools: Tool names must be unique")
		case !isObjectSchema(tool.InputSchema):
			return fmt.Errorf("tools.%d.input_schema.type: Field required", i)
		}
		names[tool.Name] = true
	}
	for i, block := range r.System {
		if err := block.checkText(); err != nil {
			return fmt.Errorf("system.%d: %w", i, err)
		}
	}
	return r.checkToolsDeclared()
}

// checkToolsDeclared refuses a history with calls for a request without tools.
func (r *anthropicRequest) checkToolsDeclared() error {
	if len(r.Tools) > 0 {
		return nil
	}
	for _, message := range r.Messages {
		for _, block := range message.Content {
			if block.Type == "tool_use" || block.Type == "tool_result" {
				return errors.New("Requests which include `tool_use` or `tool_result` blocks must define tools") //nolint:staticcheck // the provider's words
			}
		}
	}
	return nil
}

func (b anthropicBlock) checkText() error {
	switch {
	case b.Type != "text" || b.Text == nil:
		return errors.New("text: Field required")
	case strings.TrimSpace(*b.Text) == "":
		return errors.New("text content blocks must contain non-whitespace text")
	}
	return nil
}

// check checks one block of a message; ids are those of the calls so far.
func (b anthropicBlock) check(role string, ids map[string]bool) error {
	switch {
	case b.Type == "text":
		return b.checkText()
	case b.Type == "image" && role == "user":
		return b.checkImage()
	case b.Type == "tool_use" && role == "assistant":
		switch {
		case !anthropicID.MatchString(b.ID):
			return errors.New("tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
		case ids[b.ID]:
			return errors.New("`tool_use` ids must be unique")
		case !anthropicName.MatchString(b.Name):
			return errors.New("tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'")
		case !isObject(b.Input):
			return errors.New("tool_use.input: Input should be a valid dictionary")
		}
		ids[b.ID] = true
		return nil
	case b.Type == "tool_result" && role == "user":
		if b.IsError && len(b.Content) == 0 {
			return errors.New("tool_result: content cannot be empty if `is_error` is true")
		}
		for _, inner := range b.Content {
			if inner.Type != "text" && inner.Type != "image" {
				return fmt.Errorf("tool_result.content: a %q block is not allowed", inner.Type)
			}
			if err := inner.check("user", ids); err != nil {
				return err
			}
		}
		return nil
	case b.Type == "thinking" && role == "assistant" && b.Thinking != nil && b.Signature != "":
		return nil
	case b.Type == "redacted_thinking" && role == "assistant" && b.Data != "":
		return nil
	}
	return fmt.Errorf("a %q block is not allowed in a message of role %q", b.Type, role)
}

func (b anthropicBlock) checkImage() error {
	var source struct {
		Type      string `json:"type"`
		URL       string `json:"url"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	}
	if err := decode(b.Source, &source); err != nil {
		return err
	}
	switch {
	case source.Type == "url" && strings.HasPrefix(source.URL, "https://"):
	case source.Type == "base64" && source.Data != "" && strings.HasPrefix(source.MediaType, "image/"):
	default:
		return errors.New("image.source: Input should be a base64 or url source")
	}
	return nil
}

// checkToolBlocks finds calls without a result in the next message, results without a call in the one before, and results
// that do not come first.
func checkToolBlocks(messages []anthropicMessage) error {
	var open []string
	for i, message := range messages {
		if message.Role == "assistant" {
			open = nil
			for _, block := range message.Content {
				if block.Type == "tool_use" {
					open = append(open, block.ID)
				}
			}
			if len(open) > 0 && i == len(messages)-1 {
				return withoutResult(i, open)
			}
			continue
		}
		asked, other := append([]string{}, open...), false
		for j, block := range message.Content {
			if block.Type != "tool_result" {
				other = true
				continue
			}
			rest, found := without(open, block.ToolUseID)
			switch {
			case !found && contains(asked, block.ToolUseID):
				return fmt.Errorf("messages.%d.content.%d: each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s",
					i, j, block.ToolUseID)
			case !found:
				return fmt.Errorf("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. "+
					"Each `tool_result` block must have a corresponding `tool_use` block in the previous message", i, j, block.ToolUseID)
			case other:
				return fmt.Errorf("messages.%d.content.%d: `tool_result` blocks must come first", i, j)
			}
			open = rest
		}
		if len(open) > 0 {
			return withoutResult(i-1, open)
		}
	}
	return nil
}

func withoutResult(i int, open []string) error {
	return fmt.Errorf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. "+
		"Each `tool_use` block must have a corresponding `tool_result` block in the next message", i, strings.Join(open, ", "))
}

func contains(list []string, id string) bool {
	_, found := without(list, id)
	return found
}
