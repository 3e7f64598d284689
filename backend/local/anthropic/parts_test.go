package anthropic_test

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
	body, _, _, err := ask(t, begin+end, change, request)
	require.NoError(t, err)
	require.NoError(t, modelserver.CheckAnthropic([]byte(body)))
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

const shot = `{"content":[{"type":"text","text":"here"},{"type":"image","mimeType":"image/png","data":"AAAA"},{"type":"image","mimeType":"image/tiff","data":"AAAA"}]}`

func TestPartsOfAMessage(t *testing.T) {
	t.Parallel()
	request := local.ModelRequest{Messages: []execution.Message{{Role: execution.RoleUser, Parts: []execution.Part{
		{Type: execution.PartText, Text: "What?"},
		{Type: execution.PartImageURL, URL: "https://example.com/a.png"},
		{Type: execution.PartImage, MediaType: "image/gif", Data: "R0lG"},
	}}}}
	require.Contains(t, squeezed(t, nil, request), `"content":[{"text":"What?","type":"text"},`+
		`{"source":{"type":"url","url":"https://example.com/a.png"},"type":"image"},`+
		`{"source":{"data":"R0lG","media_type":"image/gif","type":"base64"},"type":"image"}]`)
	blind := squeezed(t, func(m *agent.Model) { m.NoImages = true }, request)
	require.NotContains(t, blind, "R0lG")
	require.Equal(t, 2, strings.Count(blind, "whichthismodelcannottake"))
}

func TestImagesOfResultsAreInTheResult(t *testing.T) {
	t.Parallel()
	request := local.ModelRequest{Messages: looked(shot, nil)}
	body := squeezed(t, nil, request)
	require.Contains(t, body, `"content":[{"text":"here","type":"text"},`+
		`{"source":{"data":"AAAA","media_type":"image/png","type":"base64"},"type":"image"},{"text":"[animage,whichthismodelcannottake]","type":"text"}]`)
	request.Messages[2].ToolResult.IsError = true
	require.NotContains(t, squeezed(t, nil, request), `"source"`, "an error may hold text only")
	request = local.ModelRequest{Messages: looked(`{"type":"image","content":"none"}`, nil)}
	require.Contains(t, squeezed(t, nil, request), `{\"type\":\"image\",\"content\":\"none\"}`)
}

func thinking(m *agent.Model) { m.ThinkingTokens = 2048 }

// What was thought before a call goes back with its result, to the model that thought it, and no further.
func TestThinkingGoesBackWithinItsTurn(t *testing.T) {
	t.Parallel()
	body, response, deltas, err := ask(t, events(
		`{"type":"message_start","message":{"usage":{"input_tokens":3,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"sec"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"ret"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig"}}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"hidden"}}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"a","name":"screen","input":{}}}`,
		`{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"b","name":"clock","input":{}}}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}`,
		`{"type":"message_stop"}`,
	), thinking, hello())
	require.NoError(t, err)
	asked := strings.Join(strings.Fields(body), "")
	require.Contains(t, asked, `"thinking":{"budget_tokens":2048,"type":"enabled"}`)
	require.Contains(t, asked, `"max_tokens":10240`)
	require.Empty(t, deltas)
	require.Empty(t, response.Text)
	require.NotNil(t, response.Provider)

	history := looked(`"ok"`, response.Provider)
	back := squeezed(t, thinking, local.ModelRequest{Messages: history})
	require.Contains(t, back, `[{"signature":"sig","thinking":"secret","type":"thinking"},{"data":"hidden","type":"redacted_thinking"},{"id":"a"`)

	other := squeezed(t, func(m *agent.Model) { thinking(m); m.Name = "another" }, local.ModelRequest{Messages: history})
	require.NotContains(t, other, "secret")
	require.NotContains(t, other, `"thinking"`, "the API refuses thinking in the middle of a turn without it")
	small := squeezed(t, func(m *agent.Model) { thinking(m); m.MaxOutputTokens = 2048 }, local.ModelRequest{Messages: history})
	require.NotContains(t, small, `"thinking"`, "there is no room for it")
	over := squeezed(t, thinking, local.ModelRequest{Messages: append(history, execution.Message{Role: execution.RoleUser, Text: "And?"})})
	require.NotContains(t, over, "secret", "the turn is over")
	require.Contains(t, over, `"budget_tokens"`)
}

// The store keeps what goes back, so what a server sends as thinking must not be without bound.
func TestThinkingWithoutBoundIsNotKept(t *testing.T) {
	t.Parallel()
	const pieces, piece = 20_000, 64
	stream := []string{
		`{"type":"message_start","message":{"usage":{"input_tokens":3,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
	}
	for range pieces {
		stream = append(stream, `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"`+strings.Repeat("x", piece)+`"}}`)
	}
	stream = append(
		stream,
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"screen","input":{}}}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}`,
		`{"type":"message_stop"}`,
	)
	_, response, _, err := ask(t, events(stream...), thinking, hello())
	require.NoError(t, err)
	require.Len(t, response.ToolCalls, 1)
	require.True(t, response.Provider == nil, "it is not kept")
}
