package httpapi_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/httpapi"
)

// A client that sends the head of a request and then nothing must not keep a connection for ever, whether its body is
// wanted or not.
func TestABodyThatNeverComesEndsTheConnection(t *testing.T) {
	t.Parallel()
	a := serve(t, memory(t), func(c *httpapi.Config) { c.BodyTimeout = 100 * time.Millisecond })
	for name, test := range map[string]struct {
		head   string
		status int
	}{
		"nothing of it": {"POST /v1/executions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n", 400},
		"a part of it":  {"POST /v1/executions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", 400},
		"in chunks":     {"POST /v1/executions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", 400},
		"of no use":     {"POST /v1/agents HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n", 405},
		"of a stranger": {"POST /v1/executions HTTP/1.1\r\nHost: example.com\r\nContent-Length: 100\r\n\r\n", 403},
		"of a get":      {"GET /v1/agents HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n", 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", a.Listener.Addr().String())
			require.NoError(t, err)
			defer func() { _ = conn.Close() }()
			require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
			_, err = conn.Write([]byte(test.head))
			require.NoError(t, err)
			reader := bufio.NewReader(conn)
			response, err := http.ReadResponse(reader, nil)
			require.NoError(t, err)
			defer func() { _ = response.Body.Close() }()
			require.Equal(t, test.status, response.StatusCode)
			_, err = io.Copy(io.Discard, reader)
			require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the server keeps the connection")
		})
	}
}

func TestABodyThatHasComeEndsItsDeadline(t *testing.T) {
	t.Parallel()
	a := serve(t, memory(t), func(c *httpapi.Config) { c.BodyTimeout = 50 * time.Millisecond })
	view := a.submit()
	begin := time.Now()
	got := a.do(http.MethodGet, "/v1/executions/"+string(view.ID)+"?wait=300ms", "")
	require.Equal(t, http.StatusOK, got.StatusCode)
	require.GreaterOrEqual(t, time.Since(begin), 300*time.Millisecond)
	a.submit() // on the same connection
}
