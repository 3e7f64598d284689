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
	// Parts are the pieces of a user's message that is more than text; Text is empty then.
	Parts []Part `json:"parts,omitempty"`
	// Provider is what the model's provider wants back with the next request, such as signed reasoning. It is never shown.
	Provider *ProviderState `json:"provider,omitempty"`
	// Execution and Step say which boundary added the message.
	Execution ID    `json:"executionId,omitempty"`
	Step      *Step `json:"step,omitempty"`
}

// PartType discriminates Part.
type PartType string

// The types of a part.
const (
	PartText     PartType = "text"
	PartImageURL PartType = "image_url" // the provider fetches it
	PartImage    PartType = "image"     // the bytes are here
)

// Part is one piece of a user's message. Text belongs to text, URL to image_url, MediaType and Data to image.
type Part struct {
	Type      PartType `json:"type"`
	Text      string   `json:"text,omitempty"`
	URL       string   `json:"url,omitempty"`       // https
	MediaType string   `json:"mediaType,omitempty"` // image/png, image/jpeg, image/gif or image/webp
	Data      string   `json:"data,omitempty"`      // base64
}

// ProviderState is opaque to everybody but the adapter that wrote it; Name is its provider and model.
type ProviderState struct {
	Name string          `json:"name"`
	Data json.RawMessage `json:"data"`
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
	ToolTooLarge         ToolErrorKind = "too_large" // refused; the execution fails with CodeResultTooLarge
)

// CodeResultTooLarge is the failure code of an execution that got a result which its agent refuses.
const CodeResultTooLarge = "tool_result_too_large"

// ToolResult answers one tool call.
type ToolResult struct {
	CallID    CallID          `json:"callId"`
	Name      string          `json:"name"`
	Content   json.RawMessage `json:"content"` // any JSON; a text result is a JSON string
	IsError   bool            `json:"isError,omitempty"`
	ErrorKind ToolErrorKind   `json:"errorKind,omitempty"`
	// Arguments are those that a person put in place of the call's own, and that the tool was called with.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Blob names the whole result when Content is only its head and tail.
	Blob *BlobRef `json:"blob,omitempty"`
}

// BlobRef names a large value that is stored beside its execution.
type BlobRef struct {
	Hash string `json:"hash"` // SHA-256 of the bytes, in hex
	Size int64  `json:"size"` // bytes
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
