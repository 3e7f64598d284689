package httptool_test

import (
	"bufio"
	"encoding/json"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/httptool"
	"github.com/pawl-run/pawl/execution"
)

// soon bounds every wait of these tests.
const soon = time.Minute

var recoveries = []agent.Recovery{agent.ReadOnly, agent.Idempotent, agent.Reconcile, agent.Unsafe}

func newClient(t *testing.T, cfg httptool.Config) *httptool.Client {
	t.Helper()
	client, err := httptool.NewClient(cfg)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client
}

func newTool(t *testing.T, declared agent.Tool) local.Tool {
	t.Helper()
	return newToolOf(t, newClient(t, httptool.Config{}), declared)
}

func newToolOf(t *testing.T, client *httptool.Client, declared agent.Tool) local.Tool {
	t.Helper()
	declared.Name, declared.Type = "lookup", agent.ToolHTTP
	if declared.Timeout == 0 {
		declared.Timeout = soon
	}
	tool, err := client.New(declared, func(name string) (string, bool) {
		value, ok := map[string]string{"TOKEN": "s3cret"}[name]
		return value, ok
	})
	require.NoError(t, err)
	return tool
}

func invocation() local.Invocation {
	return local.Invocation{
		Execution: "exec_0001ARZ3NDEKTSV4RRFFQ69G5FAV", EffectID: "exec_0001ARZ3NDEKTSV4RRFFQ69G5FAV:call_0_0",
		Call: execution.ToolCall{CallID: "call_0_0", Name: "lookup", Arguments: json.RawMessage(`{"city":"Oslo"}`)},
	}
}

// rawServer answers every connection on its own: what a server of net/http cannot do wrong.
func rawServer(t *testing.T, serve func(conn net.Conn)) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				_ = conn.SetDeadline(time.Now().Add(soon))
				serve(conn)
			}()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	return "http://" + listener.Addr().String() + "/lookup"
}

// readRequest reads one request from the connection.
func readRequest(conn net.Conn) bool {
	request, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return false
	}
	buffer := make([]byte, 1024)
	for read := int64(0); read < request.ContentLength; {
		n, err := request.Body.Read(buffer)
		read += int64(n)
		if err != nil {
			return read == request.ContentLength
		}
	}
	return true
}

// failed checks that the call gave an error of that kind, with no secret in it.
func failed(t *testing.T, err error, kind local.ErrorKind, code string) {
	t.Helper()
	var classified *local.Error
	require.ErrorAs(t, err, &classified)
	require.Equal(t, kind, classified.Kind, classified.Error())
	require.Equal(t, code, classified.Code)
	require.NotContains(t, err.Error(), "s3cret")
}

// wish is how long the error asks to wait.
func wish(t *testing.T, err error) time.Duration {
	t.Helper()
	var classified *local.Error
	require.ErrorAs(t, err, &classified)
	return classified.RetryAfter
}

// afterSend is the kind of a failure behind which the call may have happened.
func afterSend(recovery agent.Recovery) local.ErrorKind {
	if recovery == agent.Unsafe || recovery == agent.Reconcile { // a reconcile tool's probe is asked first
		return local.Unknown
	}
	return local.Transient
}
