//go:build peers

package peers_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/anthropic"
	"github.com/pawl-run/pawl/backend/local/openai"
	"github.com/pawl-run/pawl/execution"
)

// fixtures are what aimock answers: two calls at once, a text once there is a result, and an error.
const fixtures = `{"fixtures": [
	{"match": {"userMessage": "fail"}, "response": {"error": {"message": "slow down", "type": "rate_limit_error"}, "status": 429}},
	{"match": {"userMessage": "weather", "hasToolResult": false}, "response": {"toolCalls": [
		{"name": "weather", "arguments": {"city": "Oslo"}}, {"name": "weather", "arguments": {"city": "Bergen"}}]}},
	{"match": {"userMessage": "weather", "hasToolResult": true}, "response": {"content": "Oslo is colder than Bergen today, by four degrees."}}
]}`

// peer is a program that scripts/setup-peers.sh installs.
func peer(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "bin", "peers", "node_modules", ".bin", name))
	require.NoError(t, err)
	require.FileExists(t, path, "run make test/peers")
	return path
}

// serve starts a peer that listens at a port of the loopback and waits until it answers HTTP.
func serve(t *testing.T, name string, arguments func(port string) []string, env ...string) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	command := exec.CommandContext(t.Context(), peer(t, name), arguments(port)...)
	command.Dir = t.TempDir()
	command.Env = append(os.Environ(), append(env, "PORT="+port)...)
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	url := "http://127.0.0.1:" + port
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/health", nil)
		if err != nil {
			return false
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false
		}
		return response.Body.Close() == nil
	}, 20*time.Second, 50*time.Millisecond, name)
	return url
}

func modelAt(t *testing.T, provider, url string) local.Model {
	t.Helper()
	chat, err := openai.New(openai.Config{})
	require.NoError(t, err)
	messages, err := anthropic.New(anthropic.Config{})
	require.NoError(t, err)
	factory := map[string]local.ModelFactory{"openai": chat.Factory, "anthropic": messages.Factory}[provider]
	model, err := factory(t.Context(), &agent.Definition{Model: agent.Model{
		Provider: provider, Name: "test-model", BaseURL: url + "/v1", APIKey: "${KEY}",
	}}, func(string) (string, bool) { return "sk-test-key", true })
	require.NoError(t, err)
	return model
}

func says(text string) local.ModelRequest {
	return local.ModelRequest{
		Messages: []execution.Message{{Role: execution.RoleUser, Text: text}},
		Tools: []local.ToolSpec{{
			Name: "weather", Description: "The weather of a city.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
		}},
	}
}

// deltas puts the text of frames together.
type deltas struct {
	mu   sync.Mutex
	text strings.Builder
}

func (d *deltas) Frame(frame execution.Frame) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.text.WriteString(frame.Text)
}

func (d *deltas) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.String()
}

func TestModelsTalkToAIMock(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "fixtures.json")
	require.NoError(t, os.WriteFile(file, []byte(fixtures), 0o600))
	url := serve(t, "llmock", func(port string) []string { return []string{"--port", port, "--fixtures", file, "--strict"} })
	for _, provider := range []string{"openai", "anthropic"} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			model, request := modelAt(t, provider, url), says("the weather, please")
			answer, err := model.Generate(t.Context(), request, &deltas{})
			require.NoError(t, err)
			require.Equal(t, "tool_calls", answer.FinishReason)
			require.Len(t, answer.ToolCalls, 2)
			require.JSONEq(t, `{"city":"Bergen"}`, string(answer.ToolCalls[1].Arguments))

			for i := range answer.ToolCalls {
				answer.ToolCalls[i].CallID = execution.NewCallID(0, i)
			}
			request.Messages = append(request.Messages, execution.Message{Role: execution.RoleAssistant, ToolCalls: answer.ToolCalls})
			good := execution.TextResult(answer.ToolCalls[0], "3 degrees")
			bad := execution.ErrorResult(answer.ToolCalls[1], execution.ToolExecution, "the station is down")
			for _, result := range []*execution.ToolResult{&good, &bad} {
				request.Messages = append(request.Messages, execution.Message{Role: execution.RoleTool, ToolResult: result})
			}
			seen := &deltas{}
			answer, err = model.Generate(t.Context(), request, seen)
			require.NoError(t, err)
			require.Equal(t, "Oslo is colder than Bergen today, by four degrees.", answer.Text)
			require.Equal(t, answer.Text, seen.String())
			require.Equal(t, "stop", answer.FinishReason)
			require.NotNil(t, answer.Usage)

			_, err = model.Generate(t.Context(), says("fail"), &deltas{})
			var failure *local.Error
			require.ErrorAs(t, err, &failure)
			require.Equal(t, "rate_limited", failure.Code)
			require.Equal(t, local.Transient, failure.Kind)
		})
	}
}

func TestOpenAITalksToMockLLM(t *testing.T) {
	t.Parallel()
	url := serve(t, "mock-llm", func(string) []string { return nil })
	seen := &deltas{}
	answer, err := modelAt(t, "openai", url).Generate(t.Context(), says("Say this again"), seen)
	require.NoError(t, err)
	require.Equal(t, "Say this again", answer.Text)
	require.Equal(t, answer.Text, seen.String())
	require.Equal(t, "stop", answer.FinishReason)
}
