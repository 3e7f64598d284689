package httptool

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConnectionsGoWhereTheAgentFileSays(t *testing.T) {
	t.Parallel()
	client, err := NewClient(Config{})
	require.NoError(t, err)
	for _, c := range []*http.Client{client.kept, client.single} {
		transport, ok := c.Transport.(*http.Transport)
		require.True(t, ok)
		require.Nil(t, transport.Proxy, "the environment must not name a proxy")
		require.False(t, transport.Protocols.HTTP2(), "a canceled call must close its connection")
		require.ErrorIs(t, c.CheckRedirect(nil, nil), http.ErrUseLastResponse)
	}
}
