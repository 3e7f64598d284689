package mcptool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/execution"
)

// DefaultMaxResult is how many bytes a result may have when the configuration does not say. The message around it may be
// larger.
const DefaultMaxResult = 8 << 20

// result makes a result of what the server answered.
func (t *Tool) result(call execution.ToolCall, from *mcp.CallToolResult) *execution.ToolResult {
	if from.NeedsInput() {
		result := execution.ErrorResult(call, execution.ToolExecution,
			fmt.Sprintf("the MCP server of %s asked for input, which is not supported", t.spec.Name))
		return &result
	}
	content, err := content(from)
	switch {
	case err != nil:
		result := execution.ErrorResult(call, execution.ToolExecution,
			fmt.Sprintf("the answer of the tool %s cannot be written as JSON", t.spec.Name))
		return &result
	case len(content) > t.set.cfg.MaxResult:
		result := execution.ErrorResult(call, execution.ToolTooLarge,
			fmt.Sprintf("the tool %s answered with %d bytes, and the most that is read is %d", t.spec.Name, len(content), t.set.cfg.MaxResult))
		return &result
	}
	result := &execution.ToolResult{CallID: call.CallID, Name: call.Name, Content: content}
	if from.IsError {
		result.IsError, result.ErrorKind = true, execution.ToolExecution
	}
	return result
}

// content is a text alone as a JSON string, a structured result alone (or beside the text that repeats it) as itself,
// and anything else as the protocol writes it: {"content": […], "structuredContent": …}.
func content(from *mcp.CallToolResult) (json.RawMessage, error) {
	text, single := onlyText(from.Content)
	switch {
	case from.StructuredContent == nil && len(from.Content) == 0:
		return json.RawMessage(`""`), nil
	case from.StructuredContent == nil && single:
		return json.Marshal(text)
	case from.StructuredContent != nil && len(from.Content) == 0:
		return json.Marshal(from.StructuredContent)
	case from.StructuredContent != nil && single:
		if same := repeated(text, from.StructuredContent); same != nil {
			return same, nil
		}
	}
	return json.Marshal(struct {
		Content           []mcp.Content `json:"content"`
		StructuredContent any           `json:"structuredContent,omitempty"`
	}{from.Content, from.StructuredContent})
}

func onlyText(content []mcp.Content) (string, bool) {
	if len(content) != 1 {
		return "", false
	}
	text, ok := content[0].(*mcp.TextContent)
	if !ok {
		return "", false
	}
	return text.Text, true
}

// repeated is text as JSON when it says what structured says, nil when it does not. The text keeps numbers as the server
// wrote them.
func repeated(text string, structured any) json.RawMessage {
	var value any
	if json.Unmarshal([]byte(text), &value) != nil || !reflect.DeepEqual(value, structured) {
		return nil
	}
	var compact bytes.Buffer
	if json.Compact(&compact, []byte(text)) != nil {
		return nil
	}
	return compact.Bytes()
}
