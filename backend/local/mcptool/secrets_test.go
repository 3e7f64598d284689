package mcptool_test

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// hangsUp is a server that reads a request, writes something and hangs up.
func hangsUp(t *testing.T, text string) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		_, _ = conn.Write([]byte(text))
		_ = conn.Close()
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestNothingOfAFailedRequestIsTold: an address may hold a secret in any of its parts, and a server may repeat what it was sent.
func TestNothingOfAFailedRequestIsTold(t *testing.T) {
	t.Parallel()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	_, port, err := net.SplitHostPort(secure.Listener.Addr().String())
	require.NoError(t, err)
	for name, c := range map[string]struct{ url, says string }{
		"a host that is not there":    {"http://${TOKEN}.invalid/x", "the name of its host cannot be found"},
		"a port that nobody serves":   {"http://127.0.0.1:1/${TOKEN}", "dial: connection refused"},
		"a certificate of another":    {"https://127.0.0.1:" + port + "/${TOKEN}", "certificate"},
		"a server that speaks no TLS": {"https" + hangsUp(t, "s3cret")[len("http"):] + "/${TOKEN}", "does not speak TLS"},
		"an answer that is no HTTP":   {hangsUp(t, "Bearer s3cret\r\n\r\n"), "not HTTP that can be read"},
		"a header that is none":       {hangsUp(t, "HTTP/1.1 200 OK\r\ns3cret without a colon\r\n\r\n"), "not HTTP that can be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := &buffer{}
			cfg := quick()
			cfg.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			set := newSet(t, newServers(t, cfg), overHTTP(c.url))
			_, err := set.Tools(t.Context())
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, fmt.Sprintf("%v %+v %#v", err, err, err)+log.String(), "s3cret")
			require.NotContains(t, err.Error()+log.String(), "127.0.0.1")
		})
	}
}
