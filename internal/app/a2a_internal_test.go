package app

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnAPIThatOthersReachByAProxyIsNotOfThisMachine(t *testing.T) {
	t.Parallel()
	for address, local := range map[string]bool{
		"http://127.0.0.1:8080": true, "http://localhost:8080": true, "http://[::1]:8080": true, "http://localhost": true,
		"https://agents.example.com": false, "https://10.0.0.1:8443": false, "http://localhost.example.com": false, "": false,
	} {
		require.Equal(t, local, loopbackURL(address), address)
	}
}
