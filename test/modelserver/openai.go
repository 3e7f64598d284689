package modelserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Dialect is whose words a server of OpenAI's format uses. They all refuse the same requests, and some a few more.
type Dialect string

// The dialects.
const (
	OpenAI   Dialect = "openai"
	DeepSeek Dialect = "deepseek" // contents are strings
	Kimi     Dialect = "kimi"     // no message may be empty
)

type openAIRequest struct {
	Model               string          `json:"model"`
	Messages            []openAIMessage `json:"messages"`
	Tools               []openAITool    `json:"tools"`
	ToolChoice          any             `json:"tool_choice"`
	ParallelToolCalls   *bool           `json:"parallel_tool_calls"`
	Stream              bool            `json:"stream"`
	StreamOptions       *streamOptions  `json:"stream_options"`
	ResponseFormat      json.RawMessage `json:"response_format"`
	MaxTokens           *int64          `json:"max_tokens"`
	MaxCompletionTokens *int64          `json:"max_completion_tokens"`
	Temperature         *float64        `json:"temperature"`
	TopP                *float64        `json:"top_p"`
	ReasoningEffort     string          `json:"reasoning_effort"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type openAITool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      *bool           `json:"strict"`
	} `json:"function"`
}

type openAIMessage struct {
	Role             string          `json:"role"`
	Name             string          `json:"name"`
	Content          json.RawMessage `json:"content"`
	Refusal          string          `json:"refusal"`
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	ToolCallID       *string         `json:"tool_call_id"`
	ToolCalls        []openAICall    `json:"tool_calls"`
}

type openAICall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string  `json:"name"`
		Arguments *string `json:"arguments"`
	} `json:"function"`
}

const (
	maxOpenAIID    = 40
	maxOpenAITools = 128
)

var openAIName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// CheckOpenAI says why the API would answer 400 to the body of a chat completion request, in the dialect's words; nil when
// it would not.
func CheckOpenAI(body []byte, dialect Dialect) error {
	var request openAIRequest
	if err := decode(body, &request); err != nil {
		return err
	}
	if err := request.checkFields(); err != nil {
		return err
	}
	for i, message := range request.Messages {
		if err := message.check(dialect); err != nil {
			return fmt.Errorf("messages[%d]: %w", i, err)
		}
	}
	return checkToolOrder(request.Messages, dialect)
}

// decode refuses what the API does not know.
func decode(body []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("Failed to deserialize the JSON body into the target type: %w", err) //nolint:staticcheck // the provider's words
	}
	return nil
}

func (r *openAIRequest) checkFields() error {
	switch {
	case r.Model == "":
		return errors.New("you must provide a model parameter")
	case len(r.Messages) == 0:
		return errors.New("[] is too short - 'messages'")
	case r.StreamOptions != nil && !r.Stream:
		return errors.New("The 'stream_options' parameter is only allowed when 'stream' is enabled.") //nolint:staticcheck // the provider's words
	case r.MaxTokens != nil && r.MaxCompletionTokens != nil:
		return errors.New("Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.") //nolint:staticcheck // the provider's words
	case least(r.MaxTokens) < 1, least(r.MaxCompletionTokens) < 1:
		return errors.New("Invalid 'max_tokens': integer below minimum value. Expected a value >= 1") //nolint:staticcheck // the provider's words
	case r.ParallelToolCalls != nil && len(r.Tools) == 0:
		return errors.New("'parallel_tool_calls' is only allowed when 'tools' are specified")
	case r.Tools != nil && len(r.Tools) == 0:
		return errors.New("[] is too short - 'tools'")
	case len(r.Tools) > maxOpenAITools:
		return errors.New("Invalid 'tools': array too long") //nolint:staticcheck // the provider's words
	}
	names := map[string]bool{}
	for _, tool := range r.Tools {
		name := tool.Function.Name
		switch {
		case tool.Type != "function", !openAIName.MatchString(name), names[name]:
			return fmt.Errorf("Invalid 'tools': %q is no function with a name of its own", name) //nolint:staticcheck // the provider's words
		case len(tool.Function.Parameters) > 0 && !isObjectSchema(tool.Function.Parameters):
			return fmt.Errorf(`Invalid schema for function '%s': schema must be a JSON Schema of 'type: "object"'`, name) //nolint:staticcheck // the provider's words
		}
		names[name] = true
	}
	return r.checkFormat()
}

// checkFormat knows the three formats of an answer. JSON must be asked for in words, too.
func (r *openAIRequest) checkFormat() error {
	if len(r.ResponseFormat) == 0 {
		return nil
	}
	var format struct {
		Type   string `json:"type"`
		Schema *struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Schema      json.RawMessage `json:"schema"`
			Strict      *bool           `json:"strict"`
		} `json:"json_schema"`
	}
	if err := decode(r.ResponseFormat, &format); err != nil {
		return err
	}
	switch format.Type {
	case "text":
		return nil
	case "json_schema":
		if format.Schema == nil || !openAIName.MatchString(format.Schema.Name) || !isObject(format.Schema.Schema) {
			return errors.New("Missing required parameter: 'response_format.json_schema'") //nolint:staticcheck // the provider's words
		}
		return nil
	case "json_object":
		for _, message := range r.Messages {
			if strings.Contains(strings.ToLower(string(message.Content)), "json") {
				return nil
			}
		}
		return errors.New("'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'")
	}
	return fmt.Errorf("Invalid value: '%s'. Supported values are: 'json_object', 'json_schema', and 'text'", format.Type) //nolint:staticcheck // the provider's words
}

func (m openAIMessage) check(dialect Dialect) error {
	empty, err := contentEmpty(m.Content, dialect)
	if err != nil {
		return err
	}
	switch {
	case m.Role != "assistant" && (m.ToolCalls != nil || m.Refusal != "" || m.ReasoningContent != nil):
		return fmt.Errorf("Additional properties are not allowed in a message of role '%s'", m.Role) //nolint:staticcheck // the provider's words
	case m.Role != "tool" && m.ToolCallID != nil:
		return fmt.Errorf("Additional properties are not allowed ('tool_call_id' was unexpected) in a message of role '%s'", m.Role) //nolint:staticcheck // the provider's words
	case m.Role != "assistant" && !present(m.Content):
		return errors.New("missing field `content`")
	case m.Role == "assistant" && m.ToolCalls != nil && len(m.ToolCalls) == 0:
		return errors.New("[] is too short - 'tool_calls'")
	case m.Role == "assistant" && m.ToolCalls == nil && !present(m.Content):
		return errors.New("Invalid value for 'content': expected a string, got null.") //nolint:staticcheck // the provider's words
	case dialect == Kimi && empty && len(m.ToolCalls) == 0:
		return fmt.Errorf("Invalid request: the message with role '%s' must not be empty", m.Role) //nolint:staticcheck // the provider's words
	}
	switch m.Role {
	case "system", "developer", "user", "assistant", "tool":
	default:
		return fmt.Errorf("'%s' is not one of ['system', 'assistant', 'user', 'tool', 'developer']", m.Role)
	}
	for _, call := range m.ToolCalls {
		if err := call.check(); err != nil {
			return err
		}
	}
	return nil
}

// contentEmpty reports whether a content says nothing, and refuses shapes that the API does not know.
func contentEmpty(content json.RawMessage, dialect Dialect) (bool, error) {
	if !present(content) {
		return true, nil
	}
	var text string
	if json.Unmarshal(content, &text) == nil {
		return strings.TrimSpace(text) == "", nil
	}
	var parts []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		ImageURL *struct {
			URL    string `json:"url"`
			Detail string `json:"detail"`
		} `json:"image_url"`
	}
	if err := decode(content, &parts); err != nil {
		return true, err
	}
	if dialect == DeepSeek {
		return true, errors.New("invalid type: sequence, expected a string")
	}
	for _, part := range parts {
		switch {
		case part.Type == "text" && part.ImageURL == nil:
		case part.Type == "image_url" && part.ImageURL != nil && part.ImageURL.URL != "" && part.Text == "":
		default:
			return true, fmt.Errorf("Invalid value: '%s' of a content part", part.Type) //nolint:staticcheck // the provider's words
		}
	}
	return len(parts) == 0, nil
}

func (c openAICall) check() error {
	switch {
	case c.ID == "" || len(c.ID) > maxOpenAIID:
		return fmt.Errorf("Invalid 'tool_calls[0].id': string too long or empty: %q", c.ID) //nolint:staticcheck // the provider's words
	case c.Type != "function":
		return fmt.Errorf("Invalid value: '%s'. Supported values are: 'function'", c.Type) //nolint:staticcheck // the provider's words
	case !openAIName.MatchString(c.Function.Name):
		return fmt.Errorf("Invalid 'tool_calls[0].function.name': string does not match pattern: %q", c.Function.Name) //nolint:staticcheck // the provider's words
	case c.Function.Arguments == nil || !isObject([]byte(*c.Function.Arguments)):
		return errors.New("Invalid 'tool_calls[0].function.arguments': must be the text of a JSON object") //nolint:staticcheck // the provider's words
	}
	return nil
}

// checkToolOrder finds calls that are not answered right behind the message that asked for them, and answers to nothing.
func checkToolOrder(messages []openAIMessage, dialect Dialect) error {
	var open []string // the calls that wait for their answers, in order
	for i, message := range messages {
		if message.Role == "tool" {
			id := ""
			if message.ToolCallID != nil {
				id = *message.ToolCallID
			}
			rest, found := without(open, id)
			if !found {
				return fmt.Errorf("messages[%d]: %s", i, orphan(dialect, id))
			}
			open = rest
			continue
		}
		if len(open) > 0 {
			return errors.New(unanswered(dialect, open))
		}
		seen := map[string]bool{}
		for _, call := range message.ToolCalls {
			if seen[call.ID] {
				return fmt.Errorf("Duplicate value for 'tool_call_id' of %s in message[%d]", call.ID, i) //nolint:staticcheck // the provider's words
			}
			seen[call.ID] = true
			open = append(open, call.ID)
		}
	}
	if len(open) > 0 {
		return errors.New(unanswered(dialect, open))
	}
	return nil
}

func unanswered(dialect Dialect, open []string) string {
	text := "n assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
	switch dialect {
	case DeepSeek:
		return "A" + text + "(insufficient tool messages following tool_calls message)"
	case Kimi:
		return "Invalid request: a" + text + "The following tool_call_ids did not have response messages: " + strings.Join(open, ", ")
	default:
		return "A" + text + "The following tool_call_ids did not have response messages: " + strings.Join(open, ", ")
	}
}

func orphan(dialect Dialect, id string) string {
	if dialect == DeepSeek {
		return "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
	}
	return "messages with role 'tool' must be a response to a preceding message with 'tool_calls' (tool_call_id " + id + " is not found)"
}

func without(list []string, id string) ([]string, bool) {
	for i, one := range list {
		if one == id {
			return append(append([]string{}, list[:i]...), list[i+1:]...), true
		}
	}
	return list, false
}

func least(n *int64) int64 {
	if n == nil {
		return 1
	}
	return *n
}

func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

func isObject(raw []byte) bool {
	var object map[string]any
	return json.Unmarshal(raw, &object) == nil && object != nil
}

func isObjectSchema(raw []byte) bool {
	var schema map[string]any
	return json.Unmarshal(raw, &schema) == nil && schema["type"] == "object"
}
