package client_test

import (
	"fmt"
	"io"
	"iter"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

// pagesOf answers each request with the next text, and notes what was asked.
func pagesOf(asked *[]string, texts ...string) []http.HandlerFunc {
	handlers := make([]http.HandlerFunc, len(texts))
	for i, text := range texts {
		handlers[i] = func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			*asked = append(*asked, r.URL.RawQuery+string(body))
			_, _ = io.WriteString(w, text)
		}
	}
	return handlers
}

// collect gives what a sequence holds, as text, and its error.
func collect[T any](sequence iter.Seq2[T, error], text func(T) any) (got []string, err error) {
	for one, e := range sequence {
		if e != nil {
			return got, e
		}
		got = append(got, fmt.Sprint(text(one)))
	}
	return got, nil
}

func TestSequencesGoThroughThePages(t *testing.T) {
	t.Parallel()
	var asked []string
	c, _ := script(t, pagesOf(&asked, `{"messages":[{"index":3,"role":"user","text":"hi","later":1}],"nextFrom":4,"hasMore":true}`,
		`{"messages":[{"index":4,"role":"oracle"}],"nextFrom":5}`)...)
	got, err := collect(c.AllMessages(bounded(t), id, 3), func(m execution.HistoryMessage) any { return string(m.Role) + m.Text })
	require.NoError(t, err)
	require.Equal(t, []string{"userhi", "oracle"}, got)
	require.Equal(t, []string{"from=3&limit=100", "from=4&limit=100"}, asked)

	asked = nil
	c, _ = script(t, pagesOf(&asked, `{"checkpoints":[{"step":0,"node":"run_start","committedAtMs":5}],"nextFrom":1,"hasMore":true}`,
		`{"checkpoints":[],"nextFrom":1,"hasMore":true}`,
		`{"checkpoints":[{"step":1,"node":"tea","committedAtMs":9,"claimedAtMs":7}],"nextFrom":2}`)...)
	got, err = collect(c.AllCheckpoints(bounded(t), id, 0), func(c execution.Checkpoint) any {
		return fmt.Sprint(c.Node, c.ClaimedAtMs, "..", c.CommittedAtMs)
	})
	require.NoError(t, err)
	require.Equal(t, []string{"run_start0..5", "tea7..9"}, got)
	require.Equal(t, []string{"from=0&limit=100", "from=1&limit=100", "from=1&limit=100"}, asked)

	asked = nil
	c, _ = script(t, pagesOf(&asked, `{"toolCalls":[{"callId":"call_0_0","state":"brewing","later":1}],"nextAfter":7,"hasMore":true}`,
		`{"toolCalls":[],"nextAfter":900,"hasMore":true}`, `{"toolCalls":[{"callId":"call_1_0","state":"done"}],"nextAfter":905}`)...)
	got, err = collect(c.AllToolCalls(bounded(t), id, 2), func(e execution.LedgerEntry) any { return string(e.CallID) + " " + string(e.State) })
	require.NoError(t, err)
	require.Equal(t, []string{"call_0_0 brewing", "call_1_0 done"}, got)
	require.Equal(t, []string{"after=2&limit=100", "after=7&limit=100", "after=900&limit=100"}, asked)

	asked = nil
	c, _ = script(t, pagesOf(&asked, `{"events":[{"sequence":1,"type":"execution_queued"}],"nextAfter":1,"hasMore":true}`,
		`{"events":[{"sequence":2,"type":"tea_ready","cups":2}],"nextAfter":2}`)...)
	got, err = collect(c.AllEvents(bounded(t), id, 0), func(e execution.Event) any { return e.Payload.EventType() })
	require.NoError(t, err)
	require.Equal(t, []string{"execution_queued", "tea_ready"}, got)
	require.Equal(t, []string{"after=0&limit=100", "after=1&limit=100"}, asked)
}

func TestABulkCallGoesOnBehindItsCursor(t *testing.T) {
	t.Parallel()
	var asked []string
	c, _ := script(t, pagesOf(&asked, `{"matched":2,"changed":1,"executions":["exec_1"],"nextCursor":"a"}`,
		`{"matched":1,"changed":1,"executions":["exec_2"],"failed":[{"id":"exec_3","code":"conflict","detail":"d"}]}`)...)
	request := execution.BulkRequest{Action: execution.BulkResume, Filter: execution.BulkFilter{State: execution.Suspended}}
	got, err := collect(c.AllBulk(bounded(t), request), func(r execution.BulkResult) any { return r.Executions })
	require.NoError(t, err)
	require.Equal(t, []string{"[exec_1]", "[exec_2]"}, got)
	require.Equal(t, []string{
		`{"action":"resume","filter":{"state":"suspended"}}`, `{"action":"resume","filter":{"state":"suspended"},"cursor":"a"}`,
	}, asked)
}

func TestSequencesEndWithAnErrorAndWhenTheLoopIsLeft(t *testing.T) {
	t.Parallel()
	var asked []string
	page := `{"messages":[{"index":0},{"index":1}],"nextFrom":2,"hasMore":true}`
	c, count := script(t, append(pagesOf(&asked, page), fails(http.StatusForbidden))...)
	got, err := collect(c.AllMessages(bounded(t), id, 0), func(m execution.HistoryMessage) any { return m.Index })
	require.ErrorIs(t, err, execution.ErrForbidden)
	require.Equal(t, []string{"0", "1"}, got)
	require.EqualValues(t, 2, count.Load())
	c, count = script(t, pagesOf(&asked, page)...)
	for message, err := range c.AllMessages(bounded(t), id, 0) {
		require.NoError(t, err)
		require.Zero(t, message.Index)
		break
	}
	require.EqualValues(t, 1, count.Load())
	c, _ = script(t, pagesOf(&asked, `{"events":[{"sequence":"x"}]}`)...)
	_, err = c.Events(bounded(t), id, 0, 1)
	require.ErrorIs(t, err, execution.ErrInternal)
}
