package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/execution"
)

// bridgeVariable makes the test binary an MCP server on standard input and output, in front of the tool server at its
// value.
const bridgeVariable = "PAWL_TEST_MCP_BRIDGE"

// effectKey is where a call's effect id stands in its _meta.
const effectKey = "pawl/effectId"

// MCPOverHTTP starts an MCP server in front of the tool server: a call of its tool X arrives there at <path>/X, with the
// effect id of the call. Its tools are read (with the hint that it only reads), idem (with the hint that it may be
// repeated) and plain.
func MCPOverHTTP(tb testing.TB, tools *ToolServer, path string) (url string) {
	tb.Helper()
	return serveMCP(tb, bridge(tools.URL+path))
}

// MCPHung is MCPOverHTTP with a server that does not answer when it is asked for its tools, until answer is closed.
func MCPHung(tb testing.TB, tools *ToolServer, path string, answer <-chan struct{}) (url string) {
	tb.Helper()
	server := bridge(tools.URL + path)
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
			if method == "tools/list" {
				select {
				case <-answer:
				case <-ctx.Done():
				}
			}
			return next(ctx, method, request)
		}
	})
	return serveMCP(tb, server)
}

func serveMCP(tb testing.TB, server *mcp.Server) (url string) {
	tb.Helper()
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	listening := httptest.NewServer(handler)
	tb.Cleanup(func() {
		listening.CloseClientConnections()
		listening.Close()
	})
	return listening.URL
}

// MCPCommand is the command and the variables, as YAML, of an agent's MCP server on standard input and output: this test
// binary, as the same kind of bridge.
func MCPCommand(tb testing.TB, tools *ToolServer, path string) (yaml string) {
	tb.Helper()
	program, err := os.Executable()
	if err != nil {
		tb.Fatalf("find the test binary: %v", err)
	}
	return fmt.Sprintf("command: [%q], env: {%s: %q}", program, bridgeVariable, tools.URL+path)
}

// serveBridge is the whole program when the test binary was started as an MCP server.
func serveBridge() {
	_ = bridge(os.Getenv(bridgeVariable)).Run(context.Background(), &mcp.StdioTransport{}) // ends with its client
}

func bridge(url string) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "bridge", Version: "1"}, nil)
	for name, hints := range map[string]*mcp.ToolAnnotations{
		"read": {ReadOnlyHint: true}, "idem": {IdempotentHint: true}, "plain": nil,
	} {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: hints},
			func(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return pass(ctx, url+"/"+name, request)
			})
	}
	return server
}

// pass sends a call on to the tool server, in the words of an http tool.
func pass(ctx context.Context, url string, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	effect := fmt.Sprint(request.Params.Meta[effectKey])
	id, call, _ := strings.Cut(effect, ":")
	body, err := json.Marshal(map[string]any{
		"executionId": execution.ID(id), "callId": execution.CallID(call), "arguments": request.Params.Arguments,
	})
	if err != nil {
		return nil, fmt.Errorf("pass a call on: %w", err)
	}
	onward, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("pass a call on: %w", err)
	}
	onward.Header.Set("Idempotency-Key", effect)
	response, err := http.DefaultClient.Do(onward)
	if err != nil {
		return nil, fmt.Errorf("pass a call on: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // read to its end, or broken
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("pass a call on: %w", err)
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}, nil
}
