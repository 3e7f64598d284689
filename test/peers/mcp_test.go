//go:build peers

package peers_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/mcptool"
	"github.com/pawl-run/pawl/backend/local/scripted"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/executor"
)

const id = execution.ID("exec_0001ARZ3NDEKTSV4RRFFQ69G5FAV")

// installed is a program of the peers.
func installed(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "bin", "peers", "node_modules", ".bin", name))
	require.NoError(t, err)
	require.FileExists(t, path, "run make test/peers")
	return path
}

// sink keeps the frames of an execution.
type sink struct {
	mu     sync.Mutex
	frames []execution.Frame
}

func (s *sink) Frame(frame execution.Frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frames = append(s.frames, frame)
}

// run runs an agent with one tool in process.
func run(t *testing.T, tool string, turns string) (executor.Result, []execution.ToolResult, *sink) {
	t.Helper()
	catalog, err := agent.Parse("agents.yaml", []byte("agents:\n  demo:\n    model: {provider: scripted, turns: "+turns+"}\n"+
		"    tools:\n      - "+tool+"\n"))
	require.NoError(t, err)
	definition, _ := catalog.Agent("demo")
	return runDefinition(t, definition)
}

func runDefinition(t *testing.T, definition *agent.Definition) (executor.Result, []execution.ToolResult, *sink) {
	t.Helper()
	servers, err := mcptool.NewServers(mcptool.Config{})
	require.NoError(t, err)
	t.Cleanup(servers.Close)
	kits, err := local.NewBuilder(local.BuilderConfig{
		Models: map[string]local.ModelFactory{"scripted": scripted.Factory},
		Tools:  map[agent.ToolType]local.ToolFactory{agent.ToolMCP: servers.Factory},
	})
	require.NoError(t, err)
	seen := &sink{}
	direct, err := executor.NewDirect(executor.DirectConfig{Builder: kits, Sink: seen})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	result, err := direct.Run(ctx, id, definition, execution.CreateRequest{
		Input: execution.Input{Type: execution.UserMessage, Text: "go"},
	})
	require.NoError(t, err)
	var results []execution.ToolResult
	for _, message := range result.Messages {
		if message.ToolResult != nil {
			results = append(results, *message.ToolResult)
		}
	}
	return result, results, seen
}

func TestTheExample(t *testing.T) { // not parallel: it changes the directory
	server := installed(t, "mcp-server-filesystem")
	t.Chdir(filepath.Join("..", ".."))
	catalog, err := agent.Load(filepath.Join("examples", "mcp", "agents.yaml"))
	require.NoError(t, err)
	definition, ok := catalog.Agent("librarian")
	require.True(t, ok)
	require.Equal(t, "npx", definition.Tools[0].Command[0])
	definition.Tools[0].Command = []string{server, definition.Tools[0].Command[3]}
	result, results, _ := runDefinition(t, definition)
	require.Equal(t, &execution.Outcome{Answer: "I read the file that declares me."}, result.Outcome)
	require.Len(t, results, 2)
	require.Contains(t, string(results[0].Content), "agents.yaml")
	require.Contains(t, string(results[1].Content), "librarian")
}

func TestTheFilesystemServerServesAnExecution(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello"), 0o600))
	result, results, _ := run(t,
		`{name: files, type: mcp, command: [`+installed(t, "mcp-server-filesystem")+`, "`+dir+`"], trustHints: true}`,
		`[{toolCalls: [{name: files_read_text_file, arguments: {path: "`+dir+`/a.txt"}},
		  {name: files_read_text_file, arguments: {path: "/etc/passwd"}},
		  {name: files_read_text_file, arguments: {file: 1}},
		  {name: files_write_file, arguments: {path: "`+dir+`/b.txt", content: written}}]}, {text: done}]`)
	require.Equal(t, &execution.Outcome{Answer: "done"}, result.Outcome)
	require.Len(t, results, 4)
	require.False(t, results[0].IsError, string(results[0].Content))
	require.Contains(t, string(results[0].Content), "hello")
	require.True(t, results[1].IsError)
	require.Contains(t, string(results[1].Content), "denied")
	require.Equal(t, execution.ToolInvalidArguments, results[2].ErrorKind)
	require.False(t, results[3].IsError, string(results[3].Content))
	written, err := os.ReadFile(filepath.Join(dir, "b.txt"))
	require.NoError(t, err)
	require.Equal(t, "written", string(written))
}

func TestTheEverythingServerServesAnExecution(t *testing.T) {
	t.Parallel()
	result, results, seen := run(t, `{name: all, type: mcp, command: [`+installed(t, "mcp-server-everything")+`, stdio]}`,
		`[{toolCalls: [{name: all_echo, arguments: {message: hi}}, {name: all_get-tiny-image, arguments: {}},
		  {name: all_trigger-long-running-operation, arguments: {duration: 1, steps: 4}},
		  {name: all_get-structured-content, arguments: {location: "New York"}}]}, {text: done}]`)
	require.Equal(t, &execution.Outcome{Answer: "done"}, result.Outcome)
	require.Len(t, results, 4)
	for _, one := range results {
		require.False(t, one.IsError, string(one.Content))
	}
	require.Contains(t, string(results[0].Content), "hi")
	var image struct {
		Content []struct{ Type, MIMEType, Data string }
	}
	require.NoError(t, json.Unmarshal(results[1].Content, &image))
	types := map[string]bool{}
	for _, part := range image.Content {
		types[part.Type] = true
		if part.Type == "image" {
			require.Equal(t, "image/png", part.MIMEType)
			require.NotEmpty(t, part.Data)
		}
	}
	require.True(t, types["image"])
	var progress strings.Builder
	for _, frame := range seen.frames {
		if frame.Type == execution.FrameToolProgress {
			progress.WriteString(frame.Text)
		}
	}
	require.Contains(t, progress.String(), "2/4")
	require.True(t, json.Valid(results[3].Content))
}

func TestTheEverythingServerIsToldOfACancel(t *testing.T) {
	t.Parallel()
	servers, err := mcptool.NewServers(mcptool.Config{})
	require.NoError(t, err)
	defer servers.Close()
	set, err := servers.New(agent.Tool{
		Name: "all", Type: agent.ToolMCP, Command: []string{installed(t, "mcp-server-everything"), "stdio"},
	}, os.LookupEnv)
	require.NoError(t, err)
	_, err = set.Tools(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	began := time.Now()
	call := execution.ToolCall{CallID: "call_0_0", Arguments: json.RawMessage(`{"duration":30,"steps":3}`)}
	_, err = set.Find("all_trigger-long-running-operation").Call(ctx, local.Invocation{Execution: id, EffectID: "e", Call: call}, nil)
	require.Less(t, time.Since(began), 2*time.Second)
	require.Equal(t, local.Unknown, local.KindOf(err))
	call.Arguments = json.RawMessage(`{"message":"hi"}`)
	answer, err := set.Find("all_echo").Call(t.Context(), local.Invocation{Execution: id, EffectID: "f", Call: call}, nil)
	require.NoError(t, err)
	require.Contains(t, string(answer.Result.Content), "hi")
}
