package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/internal/wiretest"
	"github.com/pawl-run/pawl/backend/local/openai"
	"github.com/pawl-run/pawl/execution"
)

// chunks is a stream of choices' contents.
func chunks(choices ...string) string {
	var b strings.Builder
	for _, choice := range choices {
		b.WriteString(`data: {"id":"c","object":"chat.completion.chunk","choices":[` + choice + "]}\n\n")
	}
	return b.String() + "data: [DONE]\n\n"
}

func ask(t *testing.T, stream string, change func(*agent.Model), request local.ModelRequest) (string, local.ModelResponse, []string, error) {
	t.Helper()
	return wiretest.Ask(t, stream, func(url string) local.Model {
		model := settings(url)
		if change != nil {
			change(&model)
		}
		return build(t, openai.Config{}, model)
	}, request)
}

func hello() local.ModelRequest {
	return local.ModelRequest{Messages: []execution.Message{{Role: execution.RoleUser, Text: "Hi"}}}
}

const stop = `{"index":0,"delta":{},"finish_reason":"stop"}`

func TestReasoningIsNoAnswer(t *testing.T) {
	t.Parallel()
	for name, stream := range map[string]string{
		"a field of its own": chunks(`{"index":0,"delta":{"reasoning_content":"secret thoughts"}}`,
			`{"index":0,"delta":{"reasoning":"secret thoughts"}}`, `{"index":0,"delta":{"content":"Hello"}}`, stop),
		"tags": chunks(`{"index":0,"delta":{"content":"<thi"}}`, `{"index":0,"delta":{"content":"nk>secret </th"}}`,
			`{"index":0,"delta":{"content":"ink>\n\nHel"}}`, `{"index":0,"delta":{"content":"lo"}}`, stop),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, response, deltas, err := ask(t, stream, nil, hello())
			require.NoError(t, err)
			require.True(t, response.Usage.Partial, "the server reported none: it is estimated")
			require.GreaterOrEqual(t, response.Usage.OutputTokens, int64(2), "what is left out of the answer was paid for")
			response.Usage = nil
			require.Equal(t, local.ModelResponse{Text: "Hello", FinishReason: "stop"}, response)
			require.Equal(t, "Hello", strings.Join(deltas, ""))
		})
	}
}

func TestCallsOfServersThatCountOtherwise(t *testing.T) {
	t.Parallel()
	want := []execution.ToolCall{
		{Name: "a", Arguments: json.RawMessage(`{"x":1}`), ProviderID: "1"}, {Name: "b", Arguments: json.RawMessage(`{}`), ProviderID: "2"},
	}
	for name, stream := range map[string]string{
		"one index and a stop": chunks(
			`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"1","function":{"name":"a","arguments":"{\"x\":1}"}}]}}`,
			`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"2","function":{"name":"b","arguments":"{}"}}]}}`, stop),
		"mixed up": chunks(
			`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"1","function":{"name":"a","arguments":"{\"x\""}},{"index":1,"id":"2","function":{"name":"b","arguments":""}}]}}`,
			`{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{}"}},{"index":0,"id":"1","function":{"arguments":":1}"}}]}}`,
			`{"index":0,"delta":{},"finish_reason":"tool_calls"}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, response, _, err := ask(t, stream, nil, hello())
			require.NoError(t, err)
			require.Equal(t, want, response.ToolCalls)
			require.Equal(t, "tool_calls", response.FinishReason)
		})
	}
}

func TestFinishReasonsAndRefusal(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{"stop": "stop", "length": "length", "function_call": "stop", "eos": "other"} {
		_, response, _, err := ask(t, chunks(`{"index":0,"delta":{"content":"a"},"finish_reason":"`+reason+`"}`), nil, hello())
		require.NoError(t, err)
		require.Equal(t, want, response.FinishReason)
	}
	_, response, _, err := ask(t, chunks(`{"index":0,"delta":{"refusal":"I must not."}}`, stop), nil, hello())
	require.NoError(t, err)
	response.Usage = nil
	require.Equal(t, local.ModelResponse{Text: "I must not.", FinishReason: "refusal"}, response)
}

func TestUsageWithCachedTokens(t *testing.T) {
	t.Parallel()
	stream := strings.TrimSuffix(chunks(`{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}`), "data: [DONE]\n\n") +
		`data: {"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":7,"total_tokens":107,"prompt_tokens_details":{"cached_tokens":64}}}` +
		"\n\n" // no [DONE], as some servers leave it out
	_, response, _, err := ask(t, stream, nil, hello())
	require.NoError(t, err)
	require.Equal(t, &execution.Usage{InputTokens: 100, CacheReadTokens: 64, OutputTokens: 7, TotalTokens: 107}, response.Usage)
}

func TestSettingsAreHonored(t *testing.T) {
	t.Parallel()
	half := 0.5
	body, _, _, err := ask(t, chunks(stop), func(m *agent.Model) {
		m.MaxOutputTokens, m.Temperature, m.TopP = 50, &half, &half
	}, hello())
	require.NoError(t, err)
	for _, want := range []string{`"max_tokens": 50`, `"temperature": 0.5`, `"top_p": 0.5`, `"model": "test-model"`} {
		require.Contains(t, body, want)
	}
}

// What the limits leave for the answer is sent when it is less than the model's own bound.
func TestTheLimitsBoundTheAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		own, left int64
		want      string
	}{{50, 20, `"max_tokens": 20`}, {50, 80, `"max_tokens": 50`}, {0, 20, `"max_tokens": 20`}} {
		request := hello()
		request.MaxOutputTokens = c.left
		body, _, _, err := ask(t, chunks(stop), func(m *agent.Model) { m.MaxOutputTokens = c.own }, request)
		require.NoError(t, err)
		require.Contains(t, body, c.want)
	}
}

func TestStructuredOutput(t *testing.T) {
	t.Parallel()
	request := hello()
	request.Instructions = "Be brief."
	request.OutputSchema = json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`)
	with := func(how agent.StructuredOutput) string {
		body, _, _, err := ask(t, chunks(stop), func(m *agent.Model) { m.StructuredOutput = how }, request)
		require.NoError(t, err)
		return strings.Join(strings.Fields(body), "")
	}
	strict := with(agent.StructuredSchema)
	require.Contains(t, strict, `"response_format":{"json_schema":{"name":"answer","schema":{"additionalProperties":false,`)
	require.Contains(t, strict, `"strict":true`)
	require.NotContains(t, strict, "JSONSchema")
	require.Contains(t, with(agent.StructuredJSON), `"response_format":{"type":"json_object"}`)
	off := with(agent.StructuredOff)
	require.NotContains(t, off, "response_format")
	require.Contains(t, off, "Bebrief.\\n\\nAnswerwithoneJSONvalue")
	request.OutputSchema = json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","minLength":2}}}`)
	loose := with(agent.StructuredSchema)
	require.Contains(t, loose, `"minLength":2`)
	require.NotContains(t, loose, "strict")
}

// The histories that a model or a crash leaves behind are accepted by every later request.
func TestHistoriesAreMadeAcceptable(t *testing.T) {
	t.Parallel()
	request := hello()
	result := execution.TextResult(execution.ToolCall{CallID: "call_0_0", Name: "x"}, "")
	orphan := execution.TextResult(execution.ToolCall{CallID: "call_9_9", Name: "x"}, "lost")
	request.Messages = append(request.Messages,
		execution.Message{Role: execution.RoleAssistant},
		execution.Message{Role: execution.RoleAssistant, ToolCalls: []execution.ToolCall{
			{CallID: "call_0_0", Name: "no.such tool", Arguments: json.RawMessage(`"half {"`), ProviderID: strings.Repeat("x", 80)},
		}},
		execution.Message{Role: execution.RoleTool, ToolResult: &result},
		execution.Message{Role: execution.RoleTool, ToolResult: &orphan},
	)
	body, _, _, err := ask(t, chunks(stop), nil, request)
	require.NoError(t, err)
	var sent struct{ Messages json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(body), &sent))
	require.JSONEq(t, `[{"role":"user","content":"Hi"},
		{"role":"assistant","tool_calls":[{"id":"call_p1","type":"function","function":{"name":"no_such_tool","arguments":"{\"invalid_arguments\":\"half {\"}"}}]},
		{"role":"tool","tool_call_id":"call_p1","content":"(no text)"}]`, string(sent.Messages))
}

func TestNoVariableOfTheSDKIsRead(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY"} {
		t.Setenv(name, "from-the-environment")
	}
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Custom: from-the-environment")
	headers := wiretest.Headers(t, chunks(stop), func(url string) local.Model {
		model := settings(url)
		model.APIKey = ""
		return build(t, openai.Config{}, model)
	}, hello())
	require.NotContains(t, headers, "from-the-environment")
	require.NotContains(t, headers, "Authorization")
}

func TestNewValidates(t *testing.T) {
	t.Parallel()
	_, err := openai.New(openai.Config{Silence: -1})
	require.ErrorContains(t, err, "Silence")
}

func FuzzStream(f *testing.F) {
	f.Add(chunks(`{"index":0,"delta":{"content":"a"}}`, stop))
	f.Add(chunks(`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"1","function":{"name":"a","arguments":"{}"}}]}}`, stop))
	f.Add(begin + end)
	f.Add(`data: {"error":{"message":"Overloaded","code":503}}` + "\n\n")
	f.Fuzz(func(t *testing.T, stream string) {
		wiretest.FuzzOne(t, stream, func(transport wiretest.RoundTripper) local.Model {
			return build(t, openai.Config{Transport: transport}, settings("http://fuzz"))
		})
	})
}
