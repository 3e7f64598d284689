package execution

import "encoding/json"

// Role says who a message is from.
type Role string

// The roles of a message.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one entry of a conversation's history. An assistant message carries text, tool calls or both; a tool
// message carries exactly one result.
type Message struct {
	Role       Role        `json:"role"`
	Text       string      `json:"text,omitempty"`
	ToolCalls  []ToolCall  `json:"toolCalls,omitempty"`
	ToolResult *ToolResult `json:"toolResult,omitempty"`
	// Execution and Step say which boundary added the message.
	Execution ID    `json:"executionId,omitempty"`
	Step      *Step `json:"step,omitempty"`
}

// ToolCall is one call a model asked for.
type ToolCall struct {
	CallID    CallID          `json:"callId"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	// ProviderID is the provider's own id, used only towards the provider.
	ProviderID string `json:"providerId,omitempty"`
}

// ToolErrorKind classifies a tool result that is an error.
type ToolErrorKind string

// The kinds of tool error. Only ToolModelRetry and ToolInvalidArguments consume the tool's retry budget.
const (
	ToolNotFound         ToolErrorKind = "not_found"
	ToolInvalidArguments ToolErrorKind = "invalid_arguments"
	ToolExecution        ToolErrorKind = "execution"
	ToolModelRetry       ToolErrorKind = "model_retry"
	ToolRejected         ToolErrorKind = "rejected"
	ToolOutcomeUnknown   ToolErrorKind = "outcome_unknown"
)

// ToolResult answers one tool call.
type ToolResult struct {
	CallID    CallID          `json:"callId"`
	Name      string          `json:"name"`
	Content   json.RawMessage `json:"content"` // any JSON; a text result is a JSON string
	IsError   bool            `json:"isError,omitempty"`
	ErrorKind ToolErrorKind   `json:"errorKind,omitempty"`
}

// TextResult is the result whose content is the JSON string text.
func TextResult(call ToolCall, text string) ToolResult {
	content, err := json.Marshal(text)
	if err != nil {
		panic(err) // a Go string always encodes
	}
	return ToolResult{CallID: call.CallID, Name: call.Name, Content: content}
}

// ErrorResult is an error result of kind kind whose content is the JSON string text.
func ErrorResult(call ToolCall, kind ToolErrorKind, text string) ToolResult {
	result := TextResult(call, text)
	result.IsError, result.ErrorKind = true, kind
	return result
}
