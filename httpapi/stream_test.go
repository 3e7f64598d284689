package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/link"
	"github.com/pawl-run/pawl/link/linktest"
)

type noLink struct{}

func (noLink) As(execution.Authority) link.RuntimeLink { return nil }

// sse is an open event stream as any client sees it.
type sse struct {
	response *http.Response
	lines    *bufio.Reader
	cancel   context.CancelFunc
}

// message is one message of a stream; a comment has neither id nor data.
type sseMessage struct{ id, kind, data string }

func openStream(t testing.TB, base string, id execution.ID, last string) *sse {
	t.Helper()
	return openAddress(t, base+creating+"/"+string(id)+"/events", last)
}

func openAddress(t testing.TB, address, last string) *sse {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	require.NoError(t, err)
	request.Header.Set("Accept", "text/event-stream")
	if last != "" {
		request.Header.Set("Last-Event-ID", last)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	return &sse{response, bufio.NewReader(response.Body), cancel}
}

// next reads one message, comments included.
func (s *sse) next() (sseMessage, error) {
	var m sseMessage
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			return m, err
		}
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			return m, nil
		case name == "id":
			m.id = value
		case name == "event":
			m.kind = value
		case name == "data":
			m.data += value
		}
	}
}

// event reads on to the next message that is no comment.
func (s *sse) event(t testing.TB) sseMessage {
	t.Helper()
	for {
		m, err := s.next()
		require.NoError(t, err)
		if m.data != "" {
			return m
		}
	}
}

// rest reads to the end; nil when the body ended as a whole.
func (s *sse) rest(t testing.TB) error {
	t.Helper()
	_, err := io.Copy(io.Discard, s.lines)
	return err
}

func (s *sse) close() {
	s.cancel()
	_ = s.response.Body.Close()
}

func TestAStreamSaysWhatItIs(t *testing.T) {
	t.Parallel()
	store := memory(t)
	a := serve(t, store)
	view := a.submit()
	s := openStream(t, a.URL, view.ID, "")
	require.Equal(t, 200, s.response.StatusCode)
	require.Equal(t, "text/event-stream", s.response.Header.Get("Content-Type"))
	require.Equal(t, "no-store", s.response.Header.Get("Cache-Control"))
	first := s.event(t)
	require.Equal(t, "1", first.id)
	require.Equal(t, "execution_queued", first.kind)
	var event execution.Event
	require.NoError(t, json.Unmarshal([]byte(first.data), &event))
	require.EqualValues(t, 1, event.Sequence)

	w := linktest.Claim(t, store, view.ID)
	require.Equal(t, "execution_started", s.event(t).kind)
	frame := execution.Frame{Type: execution.FrameTextDelta, Step: 2, Text: "two\nlines"}
	require.NoError(t, sent(store.PublishFrame(t.Context(), view.ID, frame)))
	require.Equal(t, sseMessage{kind: "text_delta", data: `{"type":"text_delta","step":2,"text":"two\nlines"}`}, s.event(t))
	w.Complete("done")
	require.Equal(t, "execution_completed", s.event(t).kind)
	require.NoError(t, s.rest(t), "it closes after the terminal event")
}

func TestCaseF6_AnIdleStreamBeatsAndASuspendedOneStaysOpen(t *testing.T) {
	t.Parallel()
	store := memory(t)
	a := serve(t, store)
	view := a.submit()
	linktest.Claim(t, store, view.ID).Commit(journal.Then{
		Kind: journal.ThenSuspend, Suspension: execution.Suspension{Reason: execution.ReasonPolicy},
	})
	s := openStream(t, a.URL, view.ID, "")
	for beats := 0; beats < 5; {
		m, err := s.next()
		require.NoError(t, err)
		if m == (sseMessage{}) {
			beats++
		}
	}
	s.close()
}

func TestWhoeverHasReadAllIsToldNotToComeBack(t *testing.T) {
	t.Parallel()
	store := memory(t)
	a := serve(t, store)
	view := a.submit()
	linktest.Claim(t, store, view.ID).Complete("done")
	last := strconv.Itoa(len(linktest.Log(t, store, view.ID)))
	got := a.do(get, creating+"/"+string(view.ID)+"/events", "", "Accept: text/event-stream", "Last-Event-ID: "+last)
	require.Equal(t, 204, got.StatusCode)
	page := a.do(get, creating+"/"+string(view.ID)+"/events?after="+last, "")
	require.JSONEq(t, `{"events": [], "nextAfter": `+last+`, "hasMore": false}`, page.body)
}

func TestLastEventIDIsNewerThanTheAddress(t *testing.T) {
	t.Parallel()
	store := memory(t)
	a := serve(t, store)
	view := a.submit()
	linktest.Claim(t, store, view.ID).Complete("done")
	got := a.do(get, creating+"/"+string(view.ID)+"/events?after=0", "", "Accept: text/event-stream", "Last-Event-ID: 2")
	text := strings.TrimPrefix(got.body, ":\n\n") // a heartbeat, when the log was not read at once
	require.True(t, strings.HasPrefix(text, "id: 3\nevent: execution_completed\ndata: {"), got.body)
}

func TestAcceptPicksTheForm(t *testing.T) {
	t.Parallel()
	store := memory(t)
	a := serve(t, store)
	view := a.submit()
	linktest.Claim(t, store, view.ID).Complete("done")
	const page, stream = "application/json", "text/event-stream"
	for accept, want := range map[string]string{
		"*/*": page, "application/*": page, "text/event-stream": stream, "text/*": stream,
		"text/event-stream, */*;q=0.1":                     stream,
		"text/html, application/json;q=0.9":                page,
		"text/event-stream;q=0.5, application/json":        page,
		"application/json;q=0.2, text/event-stream;q=0.3":  stream,
		"text/html,application/xhtml+xml,*/*;q=0.8":        page,
		"text/event-stream;q=0, application/json;q=0, */*": "",
	} {
		got := a.do(get, creating+"/"+string(view.ID)+"/events", "", "Accept: "+accept)
		if want == "" {
			require.Equal(t, 406, got.StatusCode, accept)
			continue
		}
		require.Equal(t, want, got.Header.Get("Content-Type"), accept)
	}
}

// streamed is an execution that fifteen events tell of, and the events as raw data by sequence.
func streamed(t *testing.T, a *api, store journal.Store) (execution.ID, []string) {
	t.Helper()
	view := a.submit()
	w := linktest.Claim(t, store, view.ID)
	w.Warnings(12)
	w.Complete("done")
	var want []string
	for _, event := range linktest.Log(t, store, view.ID) {
		data, err := json.Marshal(event)
		require.NoError(t, err)
		want = append(want, string(data))
	}
	return view.ID, want
}

// cutAtEveryEvent reads an execution over two APIs in turn, cutting the stream behind every event.
func cutAtEveryEvent(t *testing.T, first, second journal.Store) {
	t.Helper()
	apis := []*api{serve(t, first), serve(t, second)}
	id, want := streamed(t, apis[0], first)
	var got []string
	for last := ""; len(got) < len(want); {
		s := openStream(t, apis[len(got)%2].URL, id, last)
		m := s.event(t)
		s.close()
		got, last = append(got, m.data), m.id
		require.Equal(t, strconv.Itoa(len(got)), m.id)
	}
	require.Equal(t, want, got)
}

func TestCaseF3_AStreamCutAtEveryEventGoesOnAtAnotherReplica(t *testing.T) {
	t.Parallel()
	store := memory(t)
	cutAtEveryEvent(t, store, store)
}

func TestALongLogIsStreamedWhole(t *testing.T) {
	t.Parallel()
	store := memory(t)
	a := serve(t, store)
	view := a.submit()
	w := linktest.Claim(t, store, view.ID)
	w.Warnings(1200)
	s := openStream(t, a.URL, view.ID, "")
	for i := 1; i <= 1000; i++ {
		require.Equal(t, strconv.Itoa(i), s.event(t).id)
	}
	w.Complete("done")
	for i := 1001; i <= 1203; i++ {
		require.Equal(t, strconv.Itoa(i), s.event(t).id)
	}
	require.NoError(t, s.rest(t))
}

func TestAClientThatTakesNothingIsCutOff(t *testing.T) {
	t.Parallel()
	store := memory(t)
	a := serve(t, store, func(c *httpapiConfig) { c.WriteTimeout = 100 * time.Millisecond })
	view := a.submit()
	w := linktest.Claim(t, store, view.ID)
	s := openStream(t, a.URL, view.ID, "2")
	require.Equal(t, 200, s.response.StatusCode)
	text := strings.Repeat("x", 1<<20)
	for range 64 { // more than the buffers between the two take
		w.Commit(journal.Then{Kind: journal.ThenContinue}, &execution.Warning{Code: "big", Message: text})
	}
	require.Eventually(t, func() bool { // the server has given up: what is left ends in the middle
		_, err := s.next()
		return err != nil
	}, patience, time.Microsecond)
}
