package httpapi_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/link/linktest"
)

// kinds reads a stream to its end: the ids and types of what carries data.
func (s *sse) kinds(t testing.TB) (ids, kinds []string) {
	t.Helper()
	for {
		m, err := s.next()
		if err != nil {
			return ids, kinds
		}
		if m.data != "" {
			ids, kinds = append(ids, m.id), append(kinds, m.kind)
		}
	}
}

// Case F5: the filter is in the address, so it holds when the client comes back; sequences stay those of the log.
func TestCaseF5_AFilterHoldsWhenTheClientComesBack(t *testing.T) {
	t.Parallel()
	store := memory(t)
	first, second := serve(t, store), serve(t, store)
	id, _ := streamed(t, first, store)
	address := first.URL + creating + "/" + string(id) + "/events?types=execution_started,text_delta"
	ids, kinds := openAddress(t, address, "").kinds(t)
	require.Equal(t, []string{"execution_started", "execution_completed"}, kinds, "the end is always told")
	require.Equal(t, "2", ids[0])
	address = second.URL + creating + "/" + string(id) + "/events?types=execution_started,text_delta"
	again, kinds := openAddress(t, address, ids[0]).kinds(t)
	require.Equal(t, []string{"execution_completed"}, kinds)
	require.Equal(t, ids[1:], again)
}

func TestAFilterLetsFramesPassOrNot(t *testing.T) {
	t.Parallel()
	store := memory(t)
	a := serve(t, store)
	view := a.submit()
	w := linktest.Claim(t, store, view.ID)
	address := a.URL + creating + "/" + string(view.ID) + "/events"
	events := openAddress(t, address+"?types=warning", "2")
	frames := openAddress(t, address+"?types=text_delta", "2")
	require.NoError(t, sent(store.PublishFrame(t.Context(), view.ID, execution.Frame{Type: execution.FrameTextDelta, Text: "x"})))
	w.Warnings(1)
	w.Complete("done")
	_, kinds := events.kinds(t)
	require.Equal(t, []string{"warning", "execution_completed"}, kinds)
	_, kinds = frames.kinds(t)
	require.Equal(t, []string{"text_delta", "execution_completed"}, kinds)
}

func TestAHeartbeatTakesTheCursorPastWhatIsFiltered(t *testing.T) {
	t.Parallel()
	store := memory(t)
	a := serve(t, store)
	view := a.submit()
	linktest.Claim(t, store, view.ID).Warnings(3)
	s := openAddress(t, a.URL+creating+"/"+string(view.ID)+"/events?types=tool_started", "")
	for {
		m, err := s.next()
		require.NoError(t, err)
		require.Empty(t, m.data)
		if m.id != "" {
			require.Equal(t, "5", m.id)
			break
		}
	}
	s.close()
}

func TestAFilterOfWhatIsNoTypeIsRefused(t *testing.T) {
	t.Parallel()
	store := memory(t)
	a := serve(t, store)
	view := a.submit()
	path := creating + "/" + string(view.ID) + "/events"
	for _, query := range []string{"?types=", "?types=warning,", "?types=tokens", "?types=warning,%20tool_started"} {
		for _, at := range []string{path, "/v1/events"} {
			got := a.do(get, at+query, "", "Accept: text/event-stream")
			require.Equal(t, 400, got.StatusCode, at+query)
			require.Contains(t, got.body, `"field":"types"`)
		}
	}
	got := a.do(get, path+"?types=warning", "")
	require.Equal(t, 400, got.StatusCode, "a page is not filtered")
	require.Contains(t, got.body, `"field":"types"`)
}

func TestEverythingTheCallerMaySeeIsStreamed(t *testing.T) {
	t.Parallel()
	store := memory(t)
	a := serve(t, store)
	before := a.submit()
	s := openAddress(t, a.URL+"/v1/events", "")
	require.Equal(t, "text/event-stream", s.response.Header.Get("Content-Type"))
	m, err := s.next() // the stream is in force
	require.NoError(t, err)
	require.Equal(t, sseMessage{}, m)
	view := a.submit()
	event := s.event(t)
	require.Equal(t, "execution_queued", event.kind)
	require.Empty(t, event.id)
	var got struct {
		ExecutionID  execution.ID       `json:"executionId"`
		Sequence     execution.Sequence `json:"sequence"`
		OccurredAtMs int64              `json:"occurredAtMs"`
		Type         string             `json:"type"`
	}
	require.NoError(t, json.Unmarshal([]byte(event.data), &got))
	require.Equal(t, view.ID, got.ExecutionID)
	require.EqualValues(t, 1, got.Sequence)
	require.Positive(t, got.OccurredAtMs)
	require.Equal(t, "execution_queued", got.Type)
	linktest.Claim(t, store, before.ID)
	started := s.event(t)
	require.Contains(t, started.data, `{"executionId":"`+string(before.ID)+`","sequence":2,`, "from now on")
	frame := execution.Frame{Type: execution.FrameTextDelta, Step: 2, InvocationID: "inv_2", Offset: 7, Text: "Hi"}
	require.NoError(t, sent(store.PublishFrame(t.Context(), before.ID, frame)))
	require.Equal(t, sseMessage{kind: "text_delta", data: `{"executionId":"` + string(before.ID) +
		`","type":"text_delta","step":2,"invocationId":"inv_2","offset":7,"text":"Hi"}`}, s.event(t))
	s.close()
}

func TestEverythingIsFiltered(t *testing.T) {
	t.Parallel()
	store := memory(t)
	a := serve(t, store)
	s := openAddress(t, a.URL+"/v1/events?types=warning", "")
	one, two := a.submit(), a.submit()
	linktest.Claim(t, store, one.ID).Complete("the end is not told here")
	w := linktest.Claim(t, store, two.ID)
	w.Warnings(1)
	event := s.event(t)
	require.Equal(t, "warning", event.kind)
	require.Contains(t, event.data, string(two.ID))
	s.close()
}

func TestEverythingIsAStreamAndNothingElse(t *testing.T) {
	t.Parallel()
	a := serve(t, memory(t))
	require.Equal(t, 406, a.do(get, "/v1/events", "", "Accept: application/json").StatusCode)
	require.Equal(t, 405, a.do("POST", "/v1/events", "").StatusCode)
	require.Equal(t, 400, a.do(get, "/v1/events?after=3", "", "Accept: text/event-stream").StatusCode)
}

func TestAStreamOfADrainingServerSaysWhenToComeBack(t *testing.T) {
	t.Parallel()
	store := memory(t)
	a := serve(t, store)
	view := a.submit()
	streams := []*sse{
		openAddress(t, a.URL+creating+"/"+string(view.ID)+"/events", "1"), openAddress(t, a.URL+"/v1/events", ""),
	}
	a.server.Drain()
	for _, s := range streams {
		var retry string
		for retry == "" {
			line, err := s.lines.ReadString('\n')
			require.NoError(t, err)
			if after, ok := strings.CutPrefix(line, "retry: "); ok {
				retry = strings.TrimSpace(after)
			}
		}
		ms, err := strconv.Atoi(retry)
		require.NoError(t, err)
		require.LessOrEqual(t, ms, 2000)
		require.NoError(t, s.rest(t), "it ends as a whole, without a terminal event")
	}
}

func TestAnAnswerInFlightIsToldToWhomeverJoins(t *testing.T) {
	t.Parallel()
	store := memory(t)
	a := serve(t, store)
	view := a.submit()
	w := linktest.Claim(t, store, view.ID)
	w.Commit(journal.Then{Kind: journal.ThenContinue}, &execution.ModelStarted{InvocationID: "inv_2"})
	first := openStream(t, a.URL, view.ID, "3")
	for i, text := range []string{"So ", "far"} {
		require.NoError(t, sent(store.PublishFrame(t.Context(), view.ID, execution.Frame{
			Type: execution.FrameTextDelta, Step: 2, InvocationID: "inv_2", Offset: 3 * i, Text: text,
		})))
		require.Equal(t, "text_delta", first.event(t).kind)
	}
	joined := openStream(t, a.URL, view.ID, "3").event(t)
	require.JSONEq(t, `{"type":"text_delta","step":2,"invocationId":"inv_2","text":"So far"}`, joined.data)
}

// sent is the error of a frame's sending.
func sent(_ int, err error) error { return err }
