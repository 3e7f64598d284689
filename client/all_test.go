package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/execution"
)

// busyAPI is an API with logs that grow, and a stream of all of them that can be cut.
type busyAPI struct {
	t       *testing.T
	mu      sync.Mutex
	logs    map[execution.ID][]execution.Event
	readers []chan string
	asked   []string
	refuses bool // the stream of everything
}

func newBusyAPI(t *testing.T) (*busyAPI, *client.Client) {
	t.Helper()
	a := &busyAPI{t: t, logs: map[execution.ID][]execution.Event{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/events", a.stream)
	mux.HandleFunc("GET /v1/executions", a.list)
	mux.HandleFunc("GET /v1/executions/{id}/events", a.events)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, client.Config{MinBackoff: time.Millisecond, MaxBackoff: 5 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return a, c
}

func (a *busyAPI) stream(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	if a.refuses {
		a.mu.Unlock()
		http.Error(w, "full", http.StatusServiceUnavailable)
		return
	}
	texts := make(chan string, 100)
	a.readers = append(a.readers, texts)
	a.asked = append(a.asked, r.URL.RawQuery)
	a.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, ":\n\n")
	for {
		_ = http.NewResponseController(w).Flush()
		select {
		case text, open := <-texts:
			if !open {
				return
			}
			_, _ = io.WriteString(w, text)
		case <-r.Context().Done():
			return
		}
	}
}

func (a *busyAPI) list(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	since, _ := strconv.ParseInt(r.URL.Query().Get("updatedSince"), 10, 64)
	page := execution.ListPage{Executions: []execution.View{}}
	for id, log := range a.logs {
		if log[len(log)-1].OccurredAtMs >= since {
			page.Executions = append(page.Executions, execution.View{ID: id})
		}
	}
	_ = json.NewEncoder(w).Encode(page)
}

func (a *busyAPI) events(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	after, _ := strconv.Atoi(r.URL.Query().Get("after"))
	log := a.logs[execution.ID(r.PathValue("id"))]
	_ = json.NewEncoder(w).Encode(execution.EventPage{Events: log[min(after, len(log)):], NextAfter: execution.Sequence(len(log))})
}

// write appends an event, and sends it to who listens unless it is to be missed.
func (a *busyAPI) write(id execution.ID, at time.Time, payload execution.Payload, missed bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	event := execution.Event{Sequence: execution.Sequence(len(a.logs[id]) + 1), OccurredAtMs: at.UnixMilli(), Payload: payload}
	a.logs[id] = append(a.logs[id], event)
	if missed {
		return
	}
	data, err := json.Marshal(event)
	require.NoError(a.t, err)
	for _, reader := range a.readers {
		reader <- fmt.Sprintf("event: %s\ndata: {\"executionId\":%q,%s\n\n", payload.EventType(), id, data[1:])
	}
}

func (a *busyAPI) frame(id execution.ID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, reader := range a.readers {
		reader <- fmt.Sprintf("event: text_delta\ndata: {\"executionId\":%q,\"type\":\"text_delta\",\"step\":1,\"text\":\"hi\"}\n\n", id)
	}
}

// cut ends the streams.
func (a *busyAPI) cut() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, reader := range a.readers {
		close(reader)
	}
	a.readers = nil
}

// listening waits until somebody follows.
func (a *busyAPI) listening() {
	a.t.Helper()
	require.Eventually(a.t, func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return len(a.readers) > 0
	}, patience, time.Millisecond)
}

// watchAll gives what a WatchAll yields, as text.
func watchAll(ctx context.Context, c *client.Client, since time.Time, types ...string) <-chan string {
	got := make(chan string, 100)
	go func() {
		defer close(got)
		for item, err := range c.WatchAll(ctx, since, types...) {
			switch {
			case err != nil:
				got <- "error: " + err.Error()
			case item.Frame != nil:
				got <- fmt.Sprint(item.Execution, " ", item.Frame.Text)
			default:
				got <- fmt.Sprint(item.Execution, " ", item.Event.Sequence)
			}
		}
	}()
	return got
}

func TestWatchAllMissesNothingWhenItsStreamEnds(t *testing.T) {
	t.Parallel()
	a, c := newBusyAPI(t)
	ctx, stop := context.WithCancelCause(bounded(t))
	now := time.Now()
	a.write("old", now.Add(-time.Hour), &execution.ExecutionQueued{}, false)
	a.write("idle", now.Add(-5*time.Second), &execution.ExecutionQueued{}, false)
	got := watchAll(ctx, c, time.Time{})
	a.listening()
	later := now.Add(time.Second) // instants of HTTP are whole seconds
	a.write("one", later, &execution.ExecutionQueued{}, false)
	require.Equal(t, "one 1", <-got)
	a.frame("one")
	require.Equal(t, "one hi", <-got)
	a.write("one", later, &execution.ExecutionStarted{}, true) // the stream leaves it out
	a.write("one", later, &execution.Warning{}, false)
	require.Equal(t, "one 2", <-got)
	require.Equal(t, "one 3", <-got)

	a.cut()
	a.write("one", later, &execution.ExecutionCompleted{}, true)
	a.write("two", later, &execution.ExecutionQueued{}, true)
	a.write("old", later, &execution.ExecutionResumed{}, true)
	caught := []string{<-got, <-got, <-got}
	slices.Sort(caught)
	require.Equal(t, []string{"old 2", "one 4", "two 1"}, caught, "what happened before is left out")
	a.listening()
	a.write("two", later, &execution.ExecutionStarted{}, false)
	require.Equal(t, "two 2", <-got)
	a.cut()
	a.listening()
	a.write("two", later, &execution.ExecutionCanceled{}, false)
	require.Equal(t, "two 3", <-got, "nothing comes twice")

	stop(errStop)
	require.Equal(t, "error: stop", <-got)
	_, open := <-got
	require.False(t, open)
}

func TestWatchAllBeginsWhereItIsTold(t *testing.T) {
	t.Parallel()
	a, c := newBusyAPI(t)
	now := time.Now()
	a.write("one", now.Add(-time.Hour), &execution.ExecutionQueued{}, false)
	a.write("one", now.Add(-time.Minute), &execution.ExecutionStarted{}, false)
	a.write("one", now.Add(-time.Minute), &execution.Warning{}, false)
	ctx, stop := context.WithCancel(bounded(t))
	got := watchAll(ctx, c, now.Add(-30*time.Minute), "warning", "tea_ready", "execution_completed")
	require.Equal(t, "one 3", <-got)
	a.listening()
	require.Equal(t, []string{"types=warning%2Ctea_ready%2Cexecution_completed"}, a.asked)
	a.cut()
	a.write("one", now, &execution.ExecutionResumed{}, true)
	a.write("one", now, &execution.ExecutionCompleted{}, true)
	require.Equal(t, "one 5", <-got)
	stop()
	require.Equal(t, "error: context canceled", <-got)
}

func TestWatchAllEndsWithWhatIsRefusedAtFirst(t *testing.T) {
	t.Parallel()
	a, c := newBusyAPI(t)
	a.refuses = true
	for _, err := range c.WatchAll(bounded(t), time.Time{}) {
		require.ErrorIs(t, err, execution.ErrUnavailable)
	}
	refusing, _ := script(t, fails(http.StatusForbidden))
	for _, err := range refusing.WatchAll(bounded(t), time.Time{}) {
		require.ErrorIs(t, err, execution.ErrForbidden)
	}
	a, c = newBusyAPI(t)
	go func() {
		a.listening()
		a.write("one", time.Now().Add(time.Second), &execution.ExecutionQueued{}, false)
	}()
	for item, err := range c.WatchAll(bounded(t), time.Time{}) {
		require.NoError(t, err)
		require.EqualValues(t, "one", item.Execution)
		break
	}
}

func TestWatchAllIsLeftAlsoWhenItsContextEnded(t *testing.T) {
	t.Parallel()
	a, c := newBusyAPI(t)
	ctx, stop := context.WithCancel(bounded(t))
	go func() {
		a.listening()
		a.write("one", time.Now().Add(time.Second), &execution.ExecutionQueued{}, false)
	}()
	for _, err := range c.WatchAll(ctx, time.Time{}) {
		require.NoError(t, err)
		stop()
		break
	}
	ctx, stop = context.WithCancel(bounded(t))
	stop()
	for _, err := range c.WatchAll(ctx, time.Now()) {
		require.ErrorIs(t, err, context.Canceled)
	}
}

func TestAStreamOfEverythingSaysHowItEnded(t *testing.T) {
	t.Parallel()
	one := "event: warning\ndata: {\"executionId\":\"exec_1\",\"sequence\":3,\"type\":\"warning\"}\n\n"
	for class, handler := range map[error]http.HandlerFunc{
		execution.ErrOverloaded:  streams(false, one),
		execution.ErrUnavailable: streams(true, one), // and then silence
		execution.ErrInternal:    streams(false, one, "data: tea\n\n"),
	} {
		c, count := script(t, handler)
		stream, err := c.FollowAll(bounded(t))
		require.NoError(t, err)
		item, err := stream.Next(bounded(t))
		require.NoError(t, err)
		require.EqualValues(t, "exec_1", item.Execution)
		require.EqualValues(t, 3, item.Event.Sequence)
		_, err = stream.Next(bounded(t))
		require.ErrorIs(t, err, class)
		require.NoError(t, stream.Close())
		require.EqualValues(t, 1, count.Load(), "it does not come back by itself")
	}
}

func TestAFilteredStreamGoesOnBehindWhatItPassed(t *testing.T) {
	t.Parallel()
	c, count := script(t,
		streams(false, event(2, false), "id: 5\n\n", "retry: 10\n\n"),
		from("5", streams(false, event(7, false))),
		from("7", streams(true, event(9, true))),
	)
	var got []execution.Sequence
	for item, err := range c.Watch(bounded(t), id, 0, "warning") {
		require.NoError(t, err)
		got = append(got, item.Event.Sequence)
	}
	require.Equal(t, []execution.Sequence{2, 7, 9}, got)
	require.EqualValues(t, 3, count.Load())
}
