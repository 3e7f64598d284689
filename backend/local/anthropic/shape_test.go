package anthropic_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/anthropic"
	"github.com/pawl-run/pawl/backend/local/internal/wiretest"
	"github.com/pawl-run/pawl/execution"
)

// events is a stream of events, each named by its type.
func events(data ...string) string {
	var b strings.Builder
	for _, one := range data {
		var named struct{ Type string }
		_ = json.Unmarshal([]byte(one), &named)
		b.WriteString("event: " + named.Type + "\ndata: " + one + "\n\n")
	}
	return b.String()
}

func ask(t *testing.T, stream string, change func(*agent.Model), request local.ModelRequest) (string, local.ModelResponse, []string, error) {
	t.Helper()
	return wiretest.Ask(t, stream, func(url string) local.Model {
		model := settings(url)
		if change != nil {
			change(&model)
		}
		return build(t, anthropic.Config{}, model)
	}, request)
}

func hello() local.ModelRequest {
	return local.ModelRequest{Messages: []execution.Message{{Role: execution.RoleUser, Text: "Hi"}}}
}

func TestThinkingIsNoAnswer(t *testing.T) {
	t.Parallel()
	_, response, deltas, err := ask(t, events(
		`{"type":"message_start","message":{"usage":{"input_tokens":3,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"secret"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"something_new","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hello"}}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"server_tool_use","id":"s","name":"web_search","input":{}}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{}"}}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}`,
		`{"type":"message_stop"}`,
	), nil, hello())
	require.NoError(t, err)
	require.Equal(t, local.ModelResponse{
		Text: "Hello", FinishReason: "stop", Usage: &execution.Usage{InputTokens: 3, OutputTokens: 9, TotalTokens: 12},
	}, response)
	require.Equal(t, []string{"Hello"}, deltas)
}

func TestFinishReasons(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{
		"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "model_context_window_exceeded": "length", "pause_turn": "other",
	} {
		_, response, _, err := ask(t, begin+events(
			`{"type":"message_delta","delta":{"stop_reason":"`+reason+`"},"usage":{"input_tokens":9,"output_tokens":4}}`,
		), nil, hello())
		require.NoError(t, err)
		require.Equal(t, want, response.FinishReason)
		require.Equal(t, &execution.Usage{
			InputTokens: 16, CacheReadTokens: 5, CacheWriteTokens: 2, OutputTokens: 4, TotalTokens: 20,
		}, response.Usage, "counts are totals so far, cached input is input")
	}
}

func TestACallWithoutDeltasHasItsInput(t *testing.T) {
	t.Parallel()
	_, response, _, err := ask(t, begin+events(
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"a","input":{"x":1}}}`,
		`{"type":"content_block_stop","index":1}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":4}}`,
	), nil, hello())
	require.NoError(t, err)
	require.Equal(t, []execution.ToolCall{{Name: "a", Arguments: json.RawMessage(`{"x":1}`), ProviderID: "t"}}, response.ToolCalls)
}

// What the limits leave for the answer is sent when it is less than the model's own bound.
func TestTheLimitsBoundTheAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		own, left int64
		want      string
	}{{50, 20, `"max_tokens": 20`}, {50, 80, `"max_tokens": 50`}, {0, 20, `"max_tokens": 20`}, {0, 0, `"max_tokens": 8192`}} {
		request := hello()
		request.MaxOutputTokens = c.left
		body, _, _, err := ask(t, begin+end, func(m *agent.Model) { m.MaxOutputTokens = c.own }, request)
		require.NoError(t, err)
		require.Contains(t, body, c.want)
	}
}

func TestStructuredOutput(t *testing.T) {
	t.Parallel()
	request := hello()
	request.OutputSchema = json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`)
	with := func(how agent.StructuredOutput) string {
		body, _, _, err := ask(t, begin+end, func(m *agent.Model) { m.StructuredOutput, m.MaxOutputTokens = how, 77 }, request)
		require.NoError(t, err)
		require.Contains(t, body, `"max_tokens": 77`)
		return strings.Join(strings.Fields(body), "")
	}
	native := with(agent.StructuredSchema)
	require.Contains(t, native, `"output_config":{"format":{"schema":{"additionalProperties":false,`)
	require.NotContains(t, native, "JSONSchema")
	require.Contains(t, with(agent.StructuredOff), "AnswerwithoneJSONvalue")
	request.OutputSchema = json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","minLength":2}}}`)
	loose := with(agent.StructuredSchema)
	require.NotContains(t, loose, "output_config")
	require.Contains(t, loose, `\"minLength\":2`)
}

// The histories that a model, a crash or another provider leaves behind are accepted by every later request.
func TestHistoriesAreMadeAcceptable(t *testing.T) {
	t.Parallel()
	request := hello()
	first := execution.TextResult(execution.ToolCall{CallID: "call_0_0", Name: "x"}, " ")
	second := execution.ErrorResult(execution.ToolCall{CallID: "call_0_1", Name: "x"}, execution.ToolExecution, "")
	request.Messages = append(request.Messages,
		execution.Message{Role: execution.RoleAssistant, Text: " \n", ToolCalls: []execution.ToolCall{
			{CallID: "call_0_0", Name: "no.such tool", Arguments: json.RawMessage(`"half {"`), ProviderID: "functions.x:0"},
			{CallID: "call_0_1", Name: "b", Arguments: json.RawMessage(`{"n":9007199254740993}`), ProviderID: "functions.x:0"},
		}},
		execution.Message{Role: execution.RoleTool, ToolResult: &first},
		execution.Message{Role: execution.RoleTool, ToolResult: &second},
		execution.Message{Role: execution.RoleUser, Text: ""},
	)
	body, _, _, err := ask(t, begin+end, nil, request)
	require.NoError(t, err)
	var sent struct {
		Messages   json.RawMessage
		Tools      []struct{ Name string }
		ToolChoice json.RawMessage `json:"tool_choice"`
	}
	require.NoError(t, json.Unmarshal([]byte(body), &sent))
	require.JSONEq(t, `[{"role":"user","content":[{"type":"text","text":"Hi"}]},
		{"role":"assistant","content":[{"type":"tool_use","id":"call_p1","name":"no_such_tool","input":{"invalid_arguments":"half {"}},
			{"type":"tool_use","id":"call_p2","name":"b","input":{"n":9007199254740993}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_p1"},
			{"type":"tool_result","tool_use_id":"call_p2","is_error":true,"content":[{"type":"text","text":"(no text)"}]},
			{"type":"text","text":"(no text)"}]}]`, string(sent.Messages))
	require.Len(t, sent.Tools, 2, "calls of tools that are not declared are refused")
	require.JSONEq(t, `{"type":"none"}`, string(sent.ToolChoice))
}

func TestNoVariableOfTheSDKIsRead(t *testing.T) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE"} {
		t.Setenv(name, "from-the-environment")
	}
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1/")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Custom: from-the-environment")
	headers := wiretest.Headers(t, begin+end, func(url string) local.Model {
		model := settings(url + "/v1") // with and without the version
		model.APIKey = ""
		return build(t, anthropic.Config{}, model)
	}, hello())
	require.Contains(t, headers, "POST /v1/messages ")
	require.NotContains(t, headers, "from-the-environment")
	require.NotContains(t, headers, "X-Api-Key")
	require.NotContains(t, headers, "Authorization")
}

func TestNewValidates(t *testing.T) {
	t.Parallel()
	_, err := anthropic.New(anthropic.Config{Silence: -1})
	require.ErrorContains(t, err, "Silence")
}

func FuzzStream(f *testing.F) {
	f.Add(begin + end)
	f.Add(begin + events(`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"a","input":{"x":1}}}`))
	f.Add("event: error\ndata: {}\n\n")
	f.Fuzz(func(t *testing.T, stream string) {
		wiretest.FuzzOne(t, stream, func(transport wiretest.RoundTripper) local.Model {
			return build(t, anthropic.Config{Transport: transport}, settings("http://fuzz"))
		})
	})
}
