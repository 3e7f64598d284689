package mcptool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/mcptool"
	"github.com/pawl-run/pawl/execution"
)

// soon bounds every wait of these tests.
const soon = time.Minute

// helperVariable makes this test binary an MCP server on standard input and output.
const helperVariable = "PAWL_TEST_MCP_SERVER"

// TestMain is the server when the test binary was started as one.
func TestMain(m *testing.M) {
	if mode := os.Getenv(helperVariable); mode != "" {
		serveStdio(mode)
		return
	}
	goleak.VerifyTestMain(m)
}

func serveStdio(mode string) {
	fmt.Fprintln(os.Stderr, "started with", os.Getenv("SECRET"))
	if log := os.Getenv("START_LOG"); log != "" {
		appendLine(log, fmt.Sprint(os.Getpid()))
	}
	ctx := context.Background()
	switch mode {
	case "exit":
		os.Exit(3)
	case "silent":
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "deaf": // ignores every polite request to end
		select {}
	default:
		_ = newFake(mode).server.Run(ctx, &mcp.StdioTransport{})
	}
}

func appendLine(path, line string) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	_, _ = f.WriteString(line + "\n")
}

// fake is an MCP server whose tools do what the tests need.
type fake struct {
	mode     string
	server   *mcp.Server
	calls    sync.Map // tool name → *atomic.Int32
	canceled chan struct{}
	entered  chan struct{}
	release  chan struct{}
	hung     atomic.Bool // tools/list does not answer
}

func newFake(mode string) *fake {
	f := &fake{mode: mode, canceled: make(chan struct{}, 100), entered: make(chan struct{}, 100), release: make(chan struct{})}
	f.server = mcp.NewServer(&mcp.Implementation{Name: "fake", Version: "1"}, nil)
	f.hung.Store(mode == "hung")
	f.server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "server/discover" && mode == "legacy" {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found"}
			}
			if method == "tools/list" && f.hung.Load() {
				select {
				case <-ctx.Done():
				case <-f.release:
				}
			}
			return next(ctx, method, req)
		}
	})
	f.add("echo", &mcp.ToolAnnotations{ReadOnlyHint: true}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text(string(req.Params.Arguments)), nil
	})
	f.add("meta", nil, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text(fmt.Sprint(req.Params.Meta[mcptool.EffectIDKey])), nil
	})
	f.add("env", nil, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text(strings.Join(os.Environ(), "\n")), nil
	})
	f.add("fail", &mcp.ToolAnnotations{IdempotentHint: true}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no such city"}}}, nil
	})
	f.add("protocol", nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New("went wrong inside")
	})
	f.addResults()
	f.addBehaviors()
	f.addQuestions()
	return f
}

// addResults adds tools that differ in their results.
func (f *fake) addResults() {
	f.add("rich", nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.TextContent{Text: "a picture"},
			&mcp.ImageContent{Data: []byte("png"), MIMEType: "image/png"},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a.txt", MIMEType: "text/plain", Text: "hello"}},
			&mcp.ResourceLink{URI: "file:///b.txt", Name: "b"},
		}}, nil
	})
	f.add("structured", nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{
			StructuredContent: json.RawMessage(`{"id":12345678901234567}`),
			Content:           []mcp.Content{&mcp.TextContent{Text: `{"id": 12345678901234567}`}},
		}, nil
	})
	f.add("both", nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{
			StructuredContent: map[string]any{"id": 7}, Content: []mcp.Content{&mcp.TextContent{Text: "seven"}},
		}, nil
	})
	f.add("nothing", nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
	})
	f.add("huge", nil, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var a struct{ Bytes int }
		_ = json.Unmarshal(req.Params.Arguments, &a)
		return text(strings.Repeat("x", a.Bytes)), nil
	})
}

// addBehaviors adds tools that differ in what they do.
func (f *fake) addBehaviors() {
	f.add("progress", nil, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := 1; i <= 3; i++ {
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: req.Params.GetProgressToken(), Progress: float64(i), Total: 3, Message: "reading",
			})
		}
		<-time.After(300 * time.Millisecond) // the work that is left
		return text("done"), nil
	})
	f.add("block", nil, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var a struct{ Log string }
		_ = json.Unmarshal(req.Params.Arguments, &a)
		if a.Log != "" {
			appendLine(a.Log, fmt.Sprint(os.Getpid()))
		}
		f.entered <- struct{}{}
		select {
		case <-ctx.Done():
			if a.Log != "" {
				appendLine(a.Log, "canceled")
			}
			f.canceled <- struct{}{}
			return nil, ctx.Err()
		case <-f.release:
			return text("released"), nil
		}
	})
	f.add("die", nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		os.Exit(9)
		return nil, nil
	})
	f.add("grow", nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		f.add("grown", nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return text("grown"), nil })
		return text("ok"), nil
	})
	f.add("odd.name", nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return text("odd"), nil })
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func (f *fake) add(name string, hints *mcp.ToolAnnotations, handler mcp.ToolHandler) {
	count := &atomic.Int32{}
	f.calls.Store(name, count)
	f.server.AddTool(&mcp.Tool{
		Name: name, Description: "Does " + name + ".", Annotations: hints, InputSchema: json.RawMessage(`{"type":"object"}`),
	}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		count.Add(1)
		return handler(ctx, req)
	})
}

func (f *fake) count(name string) int {
	n, _ := f.calls.Load(name)
	return int(n.(*atomic.Int32).Load())
}

func (f *fake) handler() http.Handler {
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return f.server },
		&mcp.StreamableHTTPOptions{Stateless: f.mode == "stateless"})
}

// http serves f until the test ends, through around when it is not nil.
func (f *fake) http(t *testing.T, around func(http.Handler) http.Handler) string {
	t.Helper()
	handler := f.handler()
	if around != nil {
		handler = around(handler)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		close(f.release)
		f.closeSessions()
		server.CloseClientConnections()
		server.Close()
		f.closeSessions() // a request that was under way may have opened one
	})
	return server.URL
}

func (f *fake) closeSessions() {
	for session := range f.server.Sessions() {
		_ = session.Close()
	}
}

func newServers(t *testing.T, cfg mcptool.Config) *mcptool.Servers {
	t.Helper()
	servers, err := mcptool.NewServers(cfg)
	require.NoError(t, err)
	t.Cleanup(servers.Close)
	return servers
}

func lookup(name string) (string, bool) {
	value, ok := map[string]string{"TOKEN": "s3cret", "EMPTY": ""}[name]
	return value, ok
}

// stdio declares this test binary as a server.
func stdio(mode string, env map[string]string) agent.Tool {
	declared := agent.Tool{
		Name: "s", Type: agent.ToolMCP, Command: []string{os.Args[0], "-test.run=^$"}, Timeout: soon,
		Env: map[string]string{helperVariable: mode, "SECRET": "${TOKEN}"},
	}
	for name, value := range env {
		declared.Env[name] = value
	}
	return declared
}

func overHTTP(url string) agent.Tool {
	return agent.Tool{Name: "s", Type: agent.ToolMCP, URL: url, Timeout: soon}
}

func newSet(t *testing.T, servers *mcptool.Servers, declared agent.Tool) *mcptool.Set {
	t.Helper()
	set, err := servers.New(declared, lookup)
	require.NoError(t, err)
	return set
}

func invocation(arguments string) local.Invocation {
	id := execution.ID("exec_0001ARZ3NDEKTSV4RRFFQ69G5FAV")
	return local.Invocation{
		Execution: id, EffectID: string(id) + ":call_0_0",
		Call: execution.ToolCall{CallID: "call_0_0", Name: "x", Arguments: json.RawMessage(arguments)},
	}
}

// call calls a tool by the name the model knows it by.
func call(t *testing.T, ctx context.Context, set *mcptool.Set, name, arguments string) (*execution.ToolResult, error) { //nolint:revive // t first
	t.Helper()
	tool := set.Find(name)
	require.NotNil(t, tool, name)
	answer, err := tool.Call(ctx, invocation(arguments), nil)
	return answer.Result, err
}

func succeed(t *testing.T, set *mcptool.Set, name, arguments string) string {
	t.Helper()
	result, err := call(t, t.Context(), set, name, arguments)
	require.NoError(t, err)
	require.False(t, result.IsError, string(result.Content))
	return string(result.Content)
}

func failed(t *testing.T, err error, kind local.ErrorKind, code string) {
	t.Helper()
	var classified *local.Error
	require.ErrorAs(t, err, &classified)
	require.Equal(t, kind, classified.Kind, err)
	require.Equal(t, code, classified.Code, err)
	require.NotContains(t, err.Error(), "s3cret")
}

// wish is how long not to try again.
func wish(t *testing.T, err error) time.Duration {
	t.Helper()
	var classified *local.Error
	require.ErrorAs(t, err, &classified)
	return classified.RetryAfter
}

func await(t *testing.T, signal <-chan struct{}) {
	t.Helper()
	select {
	case <-signal:
	case <-time.After(soon):
		require.FailNow(t, "nothing happened in time")
	}
}

// transports are the ways to reach a fake. The server of the second one lives in this process.
func transports(t *testing.T) map[string]agent.Tool {
	t.Helper()
	return map[string]agent.Tool{"stdio": stdio("plain", nil), "http": overHTTP(newFake("plain").http(t, nil))}
}
