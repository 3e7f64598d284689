package a2a

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	sdk "github.com/a2aproject/a2a-go/a2a"
	"github.com/stretchr/testify/require"
)

// A name may stand for another address by the time it is dialed than when it was looked at.
func TestTheAddressIsLookedAtWhenItIsDialed(t *testing.T) {
	t.Parallel()
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)
	for want, local := range []bool{false, true} {
		s := newSender(guard{local: local}, 10*time.Second)
		t.Cleanup(s.client.CloseIdleConnections)
		err := s.send(t.Context(), sdk.PushConfig{URL: "http://localhost:" + port + "/secret-path"}, []byte("{}"))
		if local {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, errRefused)
			require.NotContains(t, err.Error(), "secret-path")
		}
		require.Equal(t, want, asked)
	}
}
