package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/modelserver"
)

// squeezed is a request without its white space.
func squeezed(t *testing.T, change func(*agent.Model), request local.ModelRequest) string {
	t.Helper()
	body, _, _, err := ask(t, chunks(`{"index":0,"delta":{"content":"ok"}}`, stop), change, request)
	require.NoError(t, err)
	require.NoError(t, modelserver.CheckOpenAI([]byte(body), modelserver.OpenAI))
	return strings.Join(strings.Fields(body), "")
}

// looked is a history in which two tools were called, the first of which answered as given.
func looked(content string, state *execution.ProviderState) []execution.Message {
	return []execution.Message{
		{Role: execution.RoleUser, Text: "Look"},
		{Role: execution.RoleAssistant, Provider: state, ToolCalls: []execution.ToolCall{
			{CallID: "call_0_0", Name: "screen", Arguments: json.RawMessage(`{}`), ProviderID: "a"},
			{CallID: "call_0_1", Name: "clock", Arguments: json.RawMessage(`{}`), ProviderID: "b"},
		}},
		{Role: execution.RoleTool, ToolResult: &execution.ToolResult{CallID: "call_0_0", Name: "screen", Content: json.RawMessage(content)}},
		{Role: execution.RoleTool, ToolResult: &execution.ToolResult{CallID: "call_0_1", Name: "clock", Content: json.RawMessage(`"noon"`)}},
	}
}

const shot = `{"content":[{"type":"text","text":"here"},{"type":"image","mimeType":"image/png","data":"AAAA"}],"structuredContent":{"x":1}}`

func TestPartsOfAMessage(t *testing.T) {
	t.Parallel()
	request := local.ModelRequest{Messages: []execution.Message{{Role: execution.RoleUser, Parts: []execution.Part{
		{Type: execution.PartText, Text: "What?"},
		{Type: execution.PartImageURL, URL: "https://example.com/a.png"},
		{Type: execution.PartImage, MediaType: "image/gif", Data: "R0lG"},
	}}}}
	require.Contains(t, squeezed(t, nil, request), `"content":[{"text":"What?","type":"text"},`+
		`{"image_url":{"url":"https://example.com/a.png"},"type":"image_url"},`+
		`{"image_url":{"url":"data:image/gif;base64,R0lG"},"type":"image_url"}]`)
	blind := squeezed(t, func(m *agent.Model) { m.NoImages = true }, request)
	require.NotContains(t, blind, "R0lG")
	require.Equal(t, 2, strings.Count(blind, "whichthismodelcannottake"))
	require.Contains(t, blind, `"content":"What?\n[animage`, "text alone is a string")
}

// The API takes text alone in a tool's message: images follow when every call of the batch has its answer.
func TestImagesOfResultsFollowTheBatch(t *testing.T) {
	t.Parallel()
	history := append(looked(shot, nil), execution.Message{Role: execution.RoleAssistant, Text: "I see."})
	body := squeezed(t, nil, local.ModelRequest{Messages: history})
	require.Contains(t, body, `"content":"here\n[image2,whichfollows]\n{\"x\":1}"`)
	require.Contains(t, body, `{"content":"noon","role":"tool","tool_call_id":"b"},{"content":[{"text":"Image2oftheresultofscreen:","type":"text"},`+
		`{"image_url":{"url":"data:image/png;base64,AAAA"},"type":"image_url"}],"role":"user"},{"content":"Isee."`)
	last := squeezed(t, nil, local.ModelRequest{Messages: looked(shot, nil)})
	require.Contains(t, last, "data:image/png;base64,AAAA")
	blind := squeezed(t, func(m *agent.Model) { m.NoImages = true }, local.ModelRequest{Messages: looked(shot, nil)})
	require.NotContains(t, blind, "AAAA")
}

// Reasoning goes back with the results of the calls that it led to, to the model that reasoned, and no further.
func TestReasoningGoesBackWithinItsTurn(t *testing.T) {
	t.Parallel()
	_, response, deltas, err := ask(t, chunks(`{"index":0,"delta":{"reasoning_content":"sec"}}`, `{"index":0,"delta":{"reasoning_content":"ret"}}`,
		`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"screen","arguments":"{}"}},`+
			`{"index":1,"id":"b","function":{"name":"clock","arguments":"{}"}}]}}`,
		`{"index":0,"delta":{},"finish_reason":"tool_calls"}`), nil, hello())
	require.NoError(t, err)
	require.Empty(t, deltas)
	require.NotNil(t, response.Provider)

	history := looked(`"ok"`, response.Provider)
	require.Contains(t, squeezed(t, nil, local.ModelRequest{Messages: history}), `"reasoning_content":"secret"`)
	other := squeezed(t, func(m *agent.Model) { m.Name = "another" }, local.ModelRequest{Messages: history})
	require.NotContains(t, other, "secret")
	over := squeezed(t, nil, local.ModelRequest{Messages: append(history, execution.Message{Role: execution.RoleUser, Text: "And?"})})
	require.NotContains(t, over, "secret", "the turn is over")
}
