package redisconn

import (
	"net"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/internal/redistest"
)

func TestInspect_SaysWhyAServerTurnsEverybodyAway(t *testing.T) {
	t.Parallel()
	t.Run("too many clients", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t, "--maxclients", "1")
		held, err := net.Dial("tcp", server.Addr())
		require.NoError(t, err)
		t.Cleanup(func() { _ = held.Close() })
		_, err = held.Write([]byte("PING\r\n"))
		require.NoError(t, err)
		_, err = held.Read(make([]byte, 16)) // it is in
		require.NoError(t, err)
		_, err = Inspect(t.Context(), open(t, server.URL()))
		require.ErrorContains(t, err, "max number of clients reached")
	})
	t.Run("protected mode", func(t *testing.T) {
		t.Parallel()
		// A server on loopback never refuses loopback: this one says what Redis 7 says to others.
		url := serve(t, "-DENIED Redis is running in protected mode because protected mode is enabled.\r\n")
		_, err := Inspect(t.Context(), open(t, url))
		require.ErrorContains(t, err, "protected-mode no")
		var answer redis.Error
		require.ErrorAs(t, err, &answer, "waiting would not help")
	})
	t.Run("nothing said", func(t *testing.T) {
		t.Parallel()
		_, err := Inspect(t.Context(), open(t, serve(t, "")))
		require.Error(t, err)
		var answer redis.Error
		require.NotErrorAs(t, err, &answer)
	})
}

// serve says the words to each connection and resets it, as a server does whose client has written meanwhile.
func serve(t *testing.T, words string) string {
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
			_, _ = conn.Write([]byte(words))
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	return "redis://" + listener.Addr().String()
}
