package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/execution"
)

// event is the text of a warning, and of the terminal event when last.
func event(sequence int, last bool) string {
	kind, fields := "warning", `"code":"c","message":"m"`
	if last {
		kind, fields = "execution_completed", `"answer":"done"`
	}
	return fmt.Sprintf("id: %d\nevent: %s\ndata: {\"sequence\":%d,\"occurredAtMs\":1,\"type\":%q,%s}\n\n",
		sequence, kind, sequence, kind, fields)
}

// streams writes the texts and ends, or stays silent until the client leaves.
func streams(silent bool, texts ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		for _, text := range texts {
			_, _ = io.WriteString(w, text)
		}
		_ = http.NewResponseController(w).Flush()
		if silent {
			<-r.Context().Done()
		}
	}
}

// from checks the cursor that the client comes with.
func from(cursor string, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Last-Event-Id") != cursor || r.Header.Get("Accept") != "text/event-stream" {
			http.Error(w, fmt.Sprint(r.Header), http.StatusTeapot)
			return
		}
		next(w, r)
	}
}

// watch gives the sequences and frames of a whole stream.
func watch(t *testing.T, c *client.Client, after execution.Sequence) ([]string, error) {
	t.Helper()
	var got []string
	for item, err := range c.Watch(bounded(t), id, after) {
		switch {
		case err != nil:
			return got, err
		case item.Frame != nil:
			got = append(got, item.Frame.Text)
		default:
			got = append(got, fmt.Sprint(item.Event.Sequence))
		}
	}
	return got, nil
}

func TestCaseF2_AnEndWithoutTheTerminalEventIsNoEnd(t *testing.T) {
	t.Parallel()
	frame := "event: text_delta\ndata: {\"type\":\"text_delta\",\"step\":2,\"text\":\"hello\"}\n\n"
	c, count := script(t,
		from("0", streams(false, ":\n\n", event(1, false), event(2, false))), // a clean end
		from("2", fails(503)),
		from("2", aborts),
		from("2", streams(false, frame, event(3, false), "id: 4\nevent: warning\ndata: {\"sequ")), // cut in the middle
		from("3", fails(502, "Retry-After", "0")),
		from("3", streams(true, event(4, false), event(5, true))),
	)
	got, err := watch(t, c, 0)
	require.NoError(t, err)
	require.Equal(t, []string{"1", "2", "hello", "3", "4", "5"}, got)
	require.EqualValues(t, 6, count.Load())
}

func TestCaseF6_ASilentStreamIsOpenedAnew(t *testing.T) {
	t.Parallel()
	c, count := script(t, streams(true, event(1, false)), from("1", streams(true, event(2, true))))
	got, err := watch(t, c, 0)
	require.NoError(t, err)
	require.Equal(t, []string{"1", "2"}, got)
	require.EqualValues(t, 2, count.Load())
}

func TestASilentAnswerIsGivenUp(t *testing.T) {
	t.Parallel()
	silent := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	c, _ := script(t, streams(false, event(1, false)), silent, from("1", streams(false, event(2, true))))
	got, err := watch(t, c, 0)
	require.NoError(t, err)
	require.Equal(t, []string{"1", "2"}, got)
}

func TestEventsSentAgainAreDroppedAndAGapIsReadAnew(t *testing.T) {
	t.Parallel()
	c, count := script(t,
		streams(false, event(1, false), event(1, false), event(3, false)),
		from("1", streams(false, event(1, false), event(2, false), event(3, true))),
	)
	got, err := watch(t, c, 0)
	require.NoError(t, err)
	require.Equal(t, []string{"1", "2", "3"}, got)
	require.EqualValues(t, 2, count.Load())
}

func TestAnEventOfALaterReleaseIsHandedOver(t *testing.T) {
	t.Parallel()
	later := "id: 2\nevent: tea_ready\ndata: {\"sequence\":2,\"occurredAtMs\":1,\"type\":\"tea_ready\",\"cups\":2}\n\n"
	frame := "event: tea_steam\ndata: {\"type\":\"tea_steam\",\"text\":\"hot\",\"degrees\":90}\n\n"
	field := "retry: 10\nid: 3\nevent: warning\ndata: {\"sequence\":3,\"occurredAtMs\":1,\"type\":\"warning\",\"code\":\"c\",\"message\":\"m\",\"new\":1}\n\n"
	c, _ := script(t, streams(false, event(1, false), later, frame, field, event(4, true)))
	got, err := watch(t, c, 0)
	require.NoError(t, err)
	require.Equal(t, []string{"1", "2", "hot", "3", "4"}, got)

	c, _ = script(t, streams(false, event(1, false), later, frame, event(3, true)))
	var types []string
	for event, err := range c.Stream(bounded(t), id) {
		require.NoError(t, err)
		types = append(types, string(event.Payload.EventType()))
		if unknown, ok := event.Payload.(*execution.UnknownEvent); ok {
			require.JSONEq(t, `{"cups":2}`, string(unknown.Fields))
		}
	}
	require.Equal(t, []string{"warning", "tea_ready", "execution_completed"}, types)
}

func TestAnEndOfALaterReleaseIsAnEnd(t *testing.T) {
	t.Parallel()
	last := "id: 2\nevent: execution_evaporated\ndata: {\"sequence\":2,\"type\":\"execution_evaporated\"}\n\n"
	c, count := script(t, streams(false, event(1, false), last), from("2", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	}))
	got, err := watch(t, c, 0)
	require.NoError(t, err)
	require.Equal(t, []string{"1", "2"}, got)
	require.EqualValues(t, 2, count.Load())
}

func TestWhatIsNoStreamEndsTheStream(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"id: 1\ndata: tea\n\n", "id: x\ndata: {}\n\n", "data: tea\n\n"} {
		c, count := script(t, streams(true, text))
		_, err := watch(t, c, 0)
		require.ErrorIs(t, err, execution.ErrInternal)
		require.EqualValues(t, 1, count.Load())
	}
}

func TestARefusalLaterOnEndsTheStream(t *testing.T) {
	t.Parallel()
	c, count := script(t, streams(false, event(1, false)), fails(404))
	got, err := watch(t, c, 0)
	require.ErrorIs(t, err, execution.ErrNotFound)
	require.Equal(t, []string{"1"}, got)
	require.EqualValues(t, 2, count.Load())
}

func TestNothingLeftIsTheEnd(t *testing.T) {
	t.Parallel()
	c, count := script(t, from("5", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	got, err := watch(t, c, 5)
	require.NoError(t, err)
	require.Empty(t, got)
	require.EqualValues(t, 1, count.Load())
}

func TestASlowReaderLosesNothing(t *testing.T) {
	t.Parallel()
	c, _ := script(t,
		streams(true, event(1, false), event(2, false)), // stays open: it is the reader that takes its time
		from("2", streams(true, event(3, true))),
	)
	ctx := bounded(t)
	stream, err := c.Follow(ctx, id, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, stream.Close()) }()
	idle := time.NewTimer(400 * time.Millisecond) // longer than the watchdog's patience
	defer idle.Stop()
	<-idle.C
	for want := 1; want <= 3; want++ {
		item, err := stream.Next(ctx)
		require.NoError(t, err)
		require.EqualValues(t, want, item.Event.Sequence)
	}
	_, err = stream.Next(ctx)
	require.ErrorIs(t, err, io.EOF)
}

func TestCloseEndsAStreamThatWaits(t *testing.T) {
	t.Parallel()
	for _, handler := range []http.HandlerFunc{
		streams(true, event(1, false)), streams(false), streams(true, event(1, false), event(2, false)),
	} {
		c, _ := script(t, handler)
		stream, err := c.Follow(bounded(t), id, 0)
		require.NoError(t, err)
		require.NoError(t, stream.Close())
		require.NoError(t, stream.Close())
		_, err = stream.Next(bounded(t))
		require.Error(t, err)
		require.False(t, errors.Is(err, io.EOF))
	}
}

func TestAStreamEndsWithItsContext(t *testing.T) {
	t.Parallel()
	c, _ := script(t, streams(true, event(1, false)))
	ctx, cancel := context.WithCancelCause(bounded(t))
	stream, err := c.Follow(ctx, id, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, stream.Close()) }()
	_, err = stream.Next(bounded(t))
	require.NoError(t, err)
	cancel(errStop)
	_, err = stream.Next(bounded(t))
	require.ErrorIs(t, err, errStop)
}

func TestLeavingALoopClosesItsStream(t *testing.T) {
	t.Parallel()
	c, _ := script(t, streams(true, event(1, false), event(2, false)))
	for item, err := range c.Watch(bounded(t), id, 0) {
		require.NoError(t, err)
		require.EqualValues(t, 1, item.Event.Sequence)
		break
	}
}

func TestOpeningAStreamIsTriedAgainAsCallsAre(t *testing.T) {
	t.Parallel()
	c, count := script(t, aborts, fails(503), fails(429, "Retry-After", "0"), streams(true, event(1, true)))
	got, err := watch(t, c, 0)
	require.NoError(t, err)
	require.Equal(t, []string{"1"}, got)
	require.EqualValues(t, 4, count.Load())
	c, count = script(t, fails(503))
	_, err = c.Follow(bounded(t), id, 0)
	require.ErrorIs(t, err, execution.ErrUnavailable)
	require.EqualValues(t, 4, count.Load())
}
