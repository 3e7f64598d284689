package executor

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/anthropic"
	"github.com/pawl-run/pawl/backend/local/openai"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/modelserver"
)

var updateWire = flag.Bool("update-wire", false, "rewrite testdata/wire") //nolint:gochecknoglobals // a flag

// dialect is a provider as its models are addressed.
type dialect struct {
	name, provider, baseURL string
	refusal                 string // what it says to an unanswered call
}

func dialects() []dialect {
	return []dialect{
		{"openai", agent.ProviderOpenAI, "http://model/v1", "did not have response messages"},
		{"deepseek", agent.ProviderOpenAI, "http://model/deepseek/v1", "insufficient tool messages following tool_calls message"},
		{"kimi", agent.ProviderOpenAI, "http://model/kimi/v1", "did not have response messages"},
		{"anthropic", agent.ProviderAnthropic, "http://model", "without `tool_result` blocks immediately after"},
	}
}

// wired is a model of the dialect, with what it was sent last and why that would be answered 400.
type wired struct {
	local.Model
	body    []byte
	refused error
}

const (
	openAIAnswer = `data: {"choices":[{"index":0,"delta":{"content":"ok"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	claudeAnswer = `event: message_start` + "\n" + `data: {"type":"message_start","message":{"usage":{"input_tokens":1,"output_tokens":1}}}` +
		"\n\n" + `event: message_delta` + "\n" + `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}` +
		"\n\n" + `event: message_stop` + "\n" + `data: {"type":"message_stop"}` + "\n\n"
)

// RoundTrip answers as the provider would.
func (w *wired) RoundTrip(r *http.Request) (*http.Response, error) {
	w.body, _ = io.ReadAll(r.Body)
	w.refused = modelserver.Check(r, w.body)
	status, answer := http.StatusOK, openAIAnswer
	switch {
	case w.refused != nil:
		message, _ := json.Marshal(w.refused.Error())
		status, answer = http.StatusBadRequest, `{"error":{"type":"invalid_request_error","message":`+string(message)+`}}`
	case strings.HasSuffix(r.URL.Path, "/messages"):
		answer = claudeAnswer
	}
	return &http.Response{
		StatusCode: status, Request: r, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(strings.NewReader(answer)),
	}, nil
}

func newWired(t require.TestingT, d dialect, thinkingTokens int64) *wired {
	w := &wired{}
	chat, err := openai.New(openai.Config{Transport: w})
	require.NoError(t, err)
	messages, err := anthropic.New(anthropic.Config{Transport: w})
	require.NoError(t, err)
	factory := map[string]local.ModelFactory{agent.ProviderOpenAI: chat.Factory, agent.ProviderAnthropic: messages.Factory}[d.provider]
	w.Model, err = factory(context.Background(), &agent.Definition{Model: agent.Model{
		Provider: d.provider, Name: "m", BaseURL: d.baseURL, ThinkingTokens: thinkingTokens,
		NoImages: d.name == "deepseek", // it takes no contents but strings
	}}, os.LookupEnv)
	require.NoError(t, err)
	return w
}

// brokenHistories are what a crash, a cancel, an older release or a bug may leave behind.
func brokenHistories() map[string][]execution.Message {
	a, b := callOf(0, "lookup"), callOf(1, "pay")
	a.ProviderID, b.ProviderID = "call_A1", "call_B2"
	hello := execution.Message{Role: execution.RoleUser, Text: "Look it up and pay."}
	again := execution.Message{Role: execution.RoleUser, Text: "And?"}
	asked := execution.Message{Role: execution.RoleAssistant, Text: "Let me see.", ToolCalls: []execution.ToolCall{a, b}}
	found, paid := resultMessage(execution.TextResult(a, "found")), resultMessage(execution.TextResult(b, "paid"))
	said := execution.Message{Role: execution.RoleAssistant, Text: "Done."}
	return map[string][]execution.Message{
		"unanswered_at_the_end":  {hello, asked},
		"unanswered_then_a_user": {hello, asked, again},
		"one_of_two_answered":    {hello, asked, paid, again},
		"answered_too_late":      {hello, asked, again, found, paid},
		"answered_twice":         {hello, asked, found, paid, paid, again},
		"an_answer_to_nothing":   {hello, found, said, again},
		"same_ids_later":         {hello, asked, found, again, asked, paid},
		"two_unanswered_turns":   {hello, asked, asked, said, again},
	}
}

// Case E2: an unanswered call in the history never reaches a provider. The golden requests are what is sent instead; what
// would have been sent is refused in the words of each.
func TestCaseE2_GoldenRequestsOfBrokenHistories(t *testing.T) {
	t.Parallel()
	for name, history := range brokenHistories() {
		for _, d := range dialects() {
			t.Run(name+" to "+d.name, func(t *testing.T) {
				t.Parallel()
				model := newWired(t, d, 0)
				if strings.Contains(name, "unanswered") {
					_, err := model.Generate(t.Context(), local.ModelRequest{Messages: history, Tools: wireTools()}, nowhere{})
					require.ErrorContains(t, err, d.refusal, "the provider refuses the history itself")
				}
				_, _ = do(t, at(BeforeModelRequest, func(s *situation) {
					s.messages, s.kit.Model = history, model
					for _, spec := range wireTools() {
						s.kit.Tools = append(s.kit.Tools, &fakeTool{spec: spec})
					}
				}))
				require.NoError(t, model.refused)
				golden(t, name+"."+d.provider+".json", model.body)
			})
		}
	}
}

func wireTools() []local.ToolSpec {
	schema := json.RawMessage(`{"type":"object"}`)
	return []local.ToolSpec{{Name: "lookup", Description: "Looks up.", Parameters: schema}, {Name: "pay", Description: "Pays.", Parameters: schema}}
}

// golden compares JSON with a file of testdata/wire.
func golden(t *testing.T, name string, body []byte) {
	t.Helper()
	file := filepath.Join("testdata", "wire", name)
	if *updateWire {
		var pretty bytes.Buffer
		require.NoError(t, json.Indent(&pretty, body, "", "  "))
		require.NoError(t, os.WriteFile(file, append(pretty.Bytes(), '\n'), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.JSONEq(t, string(want), string(body))
}

// Case E2 for any history that begins with a user: whatever models, tools and crashes have left in it, what is sent is
// accepted by every provider.
func TestCaseE2_AnyHistoryIsSentSoThatProvidersAcceptIt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		history := []execution.Message{drawUser(rt)}
		thinking := rapid.SampledFrom([]int64{0, 2048}).Draw(rt, "thinking")
		for range rapid.IntRange(0, 8).Draw(rt, "messages") {
			message := drawMessage(rt)
			history = append(history, message)
			if message.Role == execution.RoleAssistant && len(message.ToolCalls) == 0 {
				history = append(history, drawUser(rt)) // or nothing would be asked
			}
		}
		for _, d := range dialects() {
			model := newWired(rt, d, thinking)
			_, err := model.Generate(t.Context(), local.ModelRequest{Messages: repair(history), Tools: wireTools()}, nowhere{})
			if err != nil || model.refused != nil {
				rt.Fatalf("%s: %v: %v: %s", d.name, err, model.refused, model.body)
			}
		}
	})
}

func drawText(rt *rapid.T) string {
	return rapid.SampledFrom([]string{"", " ", "\n", "Hi", "naïve \u0000 text", "{}"}).Draw(rt, "text")
}

func drawMessage(rt *rapid.T) execution.Message {
	turn := rapid.IntRange(0, 1).Draw(rt, "turn")
	call := func(index int) execution.ToolCall {
		return execution.ToolCall{
			CallID:     execution.NewCallID(turn, index),
			Name:       rapid.SampledFrom([]string{"lookup", "no.such tool", "", strings.Repeat("n", 200)}).Draw(rt, "name"),
			Arguments:  json.RawMessage(rapid.SampledFrom([]string{"", "{}", `{"a":1}`, "[]", "null", `"half {"`, "{"}).Draw(rt, "arguments")),
			ProviderID: rapid.SampledFrom([]string{"", "call_1", "call_p1", "functions.x:0", strings.Repeat("i", 80)}).Draw(rt, "id"),
		}
	}
	switch rapid.IntRange(0, 3).Draw(rt, "role") {
	case 0:
		return drawUser(rt)
	case 1:
		message := execution.Message{Role: execution.RoleAssistant, Text: drawText(rt), Provider: drawState(rt)}
		for i := range rapid.IntRange(0, 3).Draw(rt, "calls") { // the loop numbers the calls of an answer itself
			message.ToolCalls = append(message.ToolCalls, call(i))
		}
		return message
	case 2:
		return resultMessage(execution.ErrorResult(call(rapid.IntRange(0, 2).Draw(rt, "index")), execution.ToolExecution, drawText(rt)))
	}
	result := execution.TextResult(call(rapid.IntRange(0, 2).Draw(rt, "index")), drawText(rt))
	switch rapid.IntRange(0, 2).Draw(rt, "content") {
	case 1:
		result.Content = json.RawMessage(`{"a":[1,"x"]}`)
	case 2:
		result.Content = json.RawMessage(`{"content":[{"type":"text","text":" "},{"type":"image","data":"aGk=","mimeType":"image/` +
			rapid.SampledFrom([]string{"png", "tiff"}).Draw(rt, "image of the result") + `"}]}`)
	}
	result.IsError = rapid.Bool().Draw(rt, "is an error")
	return resultMessage(result)
}

func drawUser(rt *rapid.T) execution.Message {
	message := execution.Message{Role: execution.RoleUser}
	if !rapid.Bool().Draw(rt, "parts") {
		message.Text = drawText(rt)
		return message
	}
	for range rapid.IntRange(1, 3).Draw(rt, "how many parts") {
		message.Parts = append(message.Parts, rapid.SampledFrom([]execution.Part{
			{Type: execution.PartText, Text: "Hi"},
			{Type: execution.PartText, Text: " "},
			{Type: execution.PartImageURL, URL: "https://example.com/a.png"},
			{Type: execution.PartImage, MediaType: "image/png", Data: "aGk="},
		}).Draw(rt, "part"))
	}
	return message
}

// drawState is what a model may have left with its answer: this one, or another that was asked before.
func drawState(rt *rapid.T) *execution.ProviderState {
	return rapid.SampledFrom([]*execution.ProviderState{
		nil,
		{Name: "openai/m", Data: json.RawMessage(`"because"`)},
		{Name: "anthropic/m", Data: json.RawMessage(`[{"thinking":"hm","signature":"s"},{"redacted":"r"}]`)},
		{Name: "anthropic/other", Data: json.RawMessage(`[{"thinking":"hm","signature":"s"}]`)},
	}).Draw(rt, "state")
}
