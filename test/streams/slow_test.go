package streams

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

const (
	slowClients = 8
	frames      = 2000
	frameText   = 16 << 10
	// slowMemory is what the process may grow by; the frames for its slow clients alone are four times that.
	slowMemory = 64 << 20
)

// Clients that stop reading are cut off, cost the process no memory, and come back from where they were; a client that reads
// notices nothing of them.
func TestClientsThatDoNotReadCostNothing(t *testing.T) { //nolint:paralleltest // the other test measures
	w := newWorld(t)
	api := w.API()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	one, err := w.start(ctx)
	require.NoError(t, err)
	var slow []net.Conn
	for range slowClients {
		slow = append(slow, openAndStop(t, api, one.id))
	}
	stream := api.Stream(one.id, 0)
	defer stream.Cut()
	read, window := make(chan []harness.Message, 1), make(chan struct{}, 16)
	go func() {
		var events []harness.Message
		for message, ok := stream.Any(); ok; message, ok = stream.Any() {
			if message.ID > 0 {
				events = append(events, message)
			} else {
				<-window
			}
		}
		read <- events
	}()
	before := memory(api.Process, "VmRSS")
	text := strings.Repeat("x", frameText)
	for i := range frames {
		window <- struct{}{} // as fast as the one that reads
		_, err := w.store.PublishFrame(ctx, one.id, execution.Frame{
			Type: execution.FrameTextDelta, InvocationID: "inv_3", Offset: i * frameText, Text: text,
		})
		require.NoError(t, err)
		if i%100 == 0 {
			require.NoError(t, w.commit(ctx, one, false))
		}
	}
	require.NoError(t, w.commit(ctx, one, true))
	log := api.Events(one.id)
	require.Len(t, <-read, len(log), "whoever reads gets every event")
	grown := memory(api.Process, "VmHWM") - before
	t.Logf("%d clients did not read %d MiB of frames each: the process grew by %d MiB", slowClients,
		frames*frameText>>20, grown>>20)
	require.Less(t, grown, int64(slowMemory))
	for _, conn := range slow {
		comesBack(t, api, one.id, conn, log[len(log)-1].Sequence)
	}
}

// comesBack reads what came before the cut, and the rest of the log from there on.
func comesBack(t *testing.T, api *harness.API, id execution.ID, conn net.Conn, end execution.Sequence) {
	t.Helper()
	text, err := io.ReadAll(conn)
	require.True(t, err == nil || errors.Is(err, io.ErrUnexpectedEOF), "it is cut off: %v", err)
	require.NotContains(t, string(text), "execution_completed", "not at the end")
	last := execution.Sequence(strings.Count(string(text), "\nid: "))
	require.Less(t, last, end)
	again := api.Stream(id, last)
	defer again.Cut()
	for next := last + 1; next <= end; next++ {
		message, ok := again.Next()
		require.True(t, ok)
		require.Equal(t, next, message.ID)
	}
}

// openAndStop opens a stream and does not read it.
func openAndStop(t *testing.T, api *harness.API, id execution.ID) net.Conn {
	t.Helper()
	address, err := url.Parse(api.URL)
	require.NoError(t, err)
	conn, err := net.Dial("tcp", address.Host)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(2*time.Minute)))
	_, err = conn.Write([]byte("GET /v1/executions/" + string(id) + "/events HTTP/1.0\r\nHost: " + address.Host +
		"\r\nAccept: text/event-stream\r\n\r\n"))
	require.NoError(t, err)
	_, err = bufio.NewReaderSize(conn, 16).ReadByte() // it is answered
	require.NoError(t, err)
	return conn
}
