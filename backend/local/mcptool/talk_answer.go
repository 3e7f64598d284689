package mcptool

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/agent"
)

// result is the answer as the protocol wants it, or what is wrong with it.
func (a *answer) result(schema json.RawMessage) (result *mcp.ElicitResult, problem string) {
	if a.Action != accepted {
		return &mcp.ElicitResult{Action: a.Action}, ""
	}
	content := a.Content
	if len(content) == 0 {
		content = fromText(a.Text, schema)
	}
	result = &mcp.ElicitResult{Action: accepted, Content: map[string]any{}}
	if err := json.Unmarshal(content, &result.Content); err != nil || result.Content == nil {
		return nil, "it must be an object"
	}
	if len(schema) > 0 {
		if problem := misfit(content, schema); problem != "" {
			return nil, problem
		}
	}
	return result, ""
}

// fromText makes the content of an answer that is text: the one text that the schema asks for, an object when the text is
// one, and nothing when nothing is asked for.
func fromText(text string, schema json.RawMessage) json.RawMessage {
	var form struct {
		Properties map[string]struct {
			Type string `json:"type"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if len(schema) > 0 && json.Unmarshal(schema, &form) != nil {
		return nil
	}
	if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "{") && json.Valid([]byte(trimmed)) {
		return json.RawMessage(trimmed)
	}
	if len(form.Properties) == 0 {
		return json.RawMessage(`{}`)
	}
	wanted := form.Required
	if len(form.Properties) == 1 {
		wanted = nil
		for name := range form.Properties {
			wanted = append(wanted, name)
		}
	}
	if len(wanted) != 1 || form.Properties[wanted[0]].Type != "string" {
		return nil
	}
	content, err := json.Marshal(map[string]string{wanted[0]: text})
	if err != nil {
		return nil
	}
	return content
}

// misfit says how content differs from what schema asks for, on one line. A schema that is none is the server's to check.
func misfit(content, schema json.RawMessage) string {
	compiled, err := agent.CompileSchema(schema)
	if err != nil {
		return ""
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber() // which the schema's checks read exactly
	if decoder.Decode(&value) != nil {
		return "it is not JSON"
	}
	if err := compiled.Validate(value); err != nil {
		lines := strings.Split(err.Error(), "\n")
		if len(lines) > 1 { // the first one names the schema
			lines = lines[1:]
		}
		return strings.Join(strings.Fields(strings.Join(lines, "; ")), " ")
	}
	return ""
}
