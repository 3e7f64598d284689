package httptool_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
)

// hangsUp is a server that reads a request, writes something and hangs up.
func hangsUp(t *testing.T, text string) (url string) {
	t.Helper()
	return rawServer(t, func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 4096)) // whatever came of it
		_, _ = conn.Write([]byte(text))
		_ = conn.Close()
	})
}

// TestNothingOfAFailedRequestIsTold: an address may hold a secret in any of its parts, and a server may repeat what it was sent.
func TestNothingOfAFailedRequestIsTold(t *testing.T) {
	t.Parallel()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	for name, c := range map[string]struct{ url, says string }{
		"a host that is not there":     {"http://${TOKEN}.invalid/x", "the name of its host cannot be found"},
		"a port that nobody serves":    {"http://127.0.0.1:1/${TOKEN}", "dial: connection refused"},
		"a certificate of another":     {"https://" + secure.Listener.Addr().String() + "/${TOKEN}", "certificate"},
		"a server that speaks no TLS":  {"https" + hangsUp(t, "s3cret")[len("http"):] + "/${TOKEN}", "does not speak TLS"},
		"an answer that is no HTTP":    {hangsUp(t, "Bearer s3cret\r\n\r\n"), "not HTTP that can be read"},
		"a status that is none":        {hangsUp(t, "HTTP/1.1 s3cret s3cret\r\n\r\n"), "not HTTP that can be read"},
		"a header that is none":        {hangsUp(t, "HTTP/1.1 200 OK\r\ns3cret without a colon\r\n\r\n"), "not HTTP that can be read"},
		"an answer that breaks off":    {hangsUp(t, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ns3cret"), "the connection was closed"},
		"no answer at all":             {hangsUp(t, ""), "the connection"},
		"a body of chunks that are no": {hangsUp(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\ns3cret\r\n"), "not HTTP that can be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := newTool(t, agent.Tool{URL: c.url, Recovery: agent.ReadOnly, Headers: map[string]string{"Authorization": "Bearer ${TOKEN}"}})
			_, err := tool.Call(t.Context(), invocation(), nil)
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, fmt.Sprintf("%v %+v %#v", err, err, err), "s3cret")
			require.NotContains(t, err.Error(), "127.0.0.1")
		})
	}
}
