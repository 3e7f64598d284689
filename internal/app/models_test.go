package app

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/httptool"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/executor"
)

const modelKey = "sk-canary-0123456789"

// modelServer answers with the streams of a provider's transcript, one after the other, after a first 503. It keeps what
// it was asked.
type modelServer struct {
	mu      sync.Mutex
	streams []string // guarded by mu
	asked   []string // guarded by mu
	url     string
}

func newModelServer(t *testing.T, provider string) *modelServer {
	t.Helper()
	data, err := os.ReadFile("../../backend/local/" + provider + "/testdata/one_tool.txt")
	require.NoError(t, err)
	s := &modelServer{}
	for _, part := range strings.Split(string(data), "-- response ")[1:] {
		_, part, _ = strings.Cut(part, " --\n")
		part, _, _ = strings.Cut(part, "-- request ")
		s.streams = append(s.streams, part)
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *modelServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	s.asked = append(s.asked, string(body))
	if len(s.asked) == 1 {
		w.Header().Set("Retry-After-Ms", "5")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintf(w, `{"error":{"message":"busy, %s"}}`, modelKey)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, s.streams[0])
	s.streams = s.streams[1:]
}

func TestModelsRunAWholeExecution(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"openai", "anthropic"} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			models := newModelServer(t, provider)
			tool := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var call struct{ Arguments json.RawMessage }
				if json.NewDecoder(r.Body).Decode(&call) != nil || string(call.Arguments) != `{"city":"Oslo"}` {
					w.WriteHeader(http.StatusBadRequest)
				}
				_, _ = io.WriteString(w, `{"celsius":3}`)
			}))
			t.Cleanup(tool.Close)
			result := runModel(t, provider, models.url, tool.URL)

			require.Equal(t, &execution.Outcome{Answer: "It is 3 degrees in Oslo."}, result.Outcome)
			usage := result.Checkpoint.State.Usage
			require.Equal(t, execution.Usage{Requests: 3, InputTokens: 40, OutputTokens: 16, TotalTokens: 56, ToolCalls: 1}, usage)
			require.Len(t, models.asked, 3, "the failed attempt, the call and the answer")
			require.Contains(t, models.asked[2], `celsius`)
			kept, err := json.Marshal(result)
			require.NoError(t, err)
			require.NotContains(t, string(kept)+fmt.Sprintf("%+v", result), modelKey)
			require.NotContains(t, strings.Join(models.asked, ""), modelKey)
		})
	}
}

func runModel(t *testing.T, provider, modelURL, toolURL string) executor.Result {
	t.Helper()
	catalog, err := agent.Parse("agents.yaml", fmt.Appendf(nil, `agents:
  weather:
    model: {provider: %s, name: test-model, baseURL: "%s/v1", apiKey: "${MODEL_KEY}"}
    instructions: You know the weather.
    tools:
      - {name: weather, type: http, url: "%s", description: The weather of a city., recovery: read_only,
         parameters: {type: object, properties: {city: {type: string}}, required: [city]}}
`, provider, modelURL, toolURL))
	require.NoError(t, err)
	definition, _ := catalog.Agent("weather")
	factories, err := modelFactories()
	require.NoError(t, err)
	tools, err := httptool.NewClient(httptool.Config{})
	require.NoError(t, err)
	t.Cleanup(tools.Close)
	builder, err := local.NewBuilder(local.BuilderConfig{
		Models: factories, Tools: map[agent.ToolType]local.ToolFactory{agent.ToolHTTP: tools.Factory},
		Lookup: func(name string) (string, bool) { return modelKey, name == "MODEL_KEY" },
	})
	require.NoError(t, err)
	direct, err := executor.NewDirect(executor.DirectConfig{Builder: builder})
	require.NoError(t, err)
	result, err := direct.Run(t.Context(), "exec_0001JG0000000000000000000000", definition, execution.CreateRequest{
		Input: execution.Input{Type: execution.UserMessage, Text: "How cold is it in Oslo?"},
	})
	require.NoError(t, err)
	return result
}
