package anthropic_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/anthropic"
	"github.com/pawl-run/pawl/backend/local/internal/wiretest"
	"github.com/pawl-run/pawl/execution"
)

// canary is the key of every test: no error may show it.
const canary = "sk-canary-0123456789"

func settings(url string) agent.Model {
	return agent.Model{Provider: "anthropic", Name: "test-model", BaseURL: url + "", APIKey: "${KEY}", Timeout: time.Minute}
}

func lookup(name string) (string, bool) { return canary, name == "KEY" }

func build(t *testing.T, cfg anthropic.Config, model agent.Model) local.Model {
	t.Helper()
	provider, err := anthropic.New(cfg)
	require.NoError(t, err)
	built, err := provider.Factory(context.Background(), &agent.Definition{Name: "a", Model: model}, lookup)
	require.NoError(t, err)
	return built
}

func rightRequest(t *testing.T, r *http.Request) {
	t.Helper()
	require.Equal(t, http.MethodPost, r.Method)
	require.Equal(t, "/v1/messages", r.URL.Path)
	require.Equal(t, canary, r.Header.Get("X-Api-Key"))
	require.NotEmpty(t, r.Header.Get("Anthropic-Version"))
}

func player(t *testing.T) wiretest.Player {
	t.Helper()
	return wiretest.Player{
		Check: func(r *http.Request) { rightRequest(t, r) },
		Build: func(url string) local.Model { return build(t, anthropic.Config{}, settings(url)) },
		Real: wiretest.Real{
			URL: "https://api.anthropic.com", Key: "ANTHROPIC_API_KEY", Model: "ANTHROPIC_MODEL", Base: "ANTHROPIC_RECORD_URL",
			TestKey: canary, TestModel: "test-model",
		},
	}
}

func TestRecordedTranscripts(t *testing.T) {
	t.Parallel()
	for _, c := range wiretest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			player(t).PlayRecorded(t, c)
		})
	}
}

// Cases E2 and E4: the request that follows a tool, a tool's error, a rejected or a canceled call is one that the provider
// accepts.
func TestCaseE2E4_Transcripts(t *testing.T) {
	t.Parallel()
	for _, c := range wiretest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			answers := player(t).Play(t, "testdata/"+c.Name+".txt", c)
			last := answers[len(answers)-1]
			require.Equal(t, "stop", last.FinishReason)
			require.NotEmpty(t, last.Text)
			require.Empty(t, last.ToolCalls)
			require.Equal(t, &execution.Usage{InputTokens: 20, OutputTokens: 8, TotalTokens: 28}, last.Usage)
			if first := answers[0]; c.Name != "text" {
				require.Equal(t, "tool_calls", first.FinishReason)
				require.Equal(t, "weather", first.ToolCalls[0].Name)
				require.JSONEq(t, `{"city":"Oslo"}`, string(first.ToolCalls[0].Arguments))
				require.NotEmpty(t, first.ToolCalls[0].ProviderID)
			}
			if c.Name == "parallel_tools" {
				require.Len(t, answers[0].ToolCalls, 2)
				require.Equal(t, "Let me look.", answers[0].Text)
				require.JSONEq(t, `{"city":"Bergen"}`, string(answers[0].ToolCalls[1].Arguments))
			}
		})
	}
}
