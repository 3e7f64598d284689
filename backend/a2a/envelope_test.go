package a2a_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/backend/a2a"
	"github.com/pawl-run/pawl/backend/a2a/a2atest"
	"github.com/pawl-run/pawl/backend/local"
)

func TestAnAnswerToAnotherRequestIsRefusedByItsID(t *testing.T) {
	t.Parallel()
	const task = `"result":{"kind":"task","id":"t","contextId":"c","status":{"state":"completed"}}`
	for text, named := range map[string]string{
		`{"jsonrpc":"2.0","id":"x",` + task + `}`:                                `the id of the answer is "x"`,
		`{"jsonrpc":"2.0","id":5,` + task + `}`:                                  `the id of the answer is 5`,
		`{"jsonrpc":"2.0","id":null,` + task + `}`:                               `the id of the answer is null`,
		`{"jsonrpc":"2.0",` + task + `}`:                                         `the id of the answer is missing`,
		`{"jsonrpc":"2.0","id":"x","error":{"code":-32001,"message":"unknown"}}`: `the id of the answer is "x"`,
	} {
		done := make(chan struct{})
		r, peer := remote(t, a2atest.Until(done, "never"))
		peer.Intercept(saying(a2atest.Send, "application/json", text))
		_, err := r.call("hello")
		require.Contains(t, classified(t, err, local.Permanent, a2a.CodeMalformed).Message, named)

		peer.Intercept(nil)
		r = newRun(t, r.backend)
		r.must("hello")
		for _, method := range []string{a2atest.Get, a2atest.Cancel} {
			peer.Intercept(saying(method, "application/json", text))
			if method == a2atest.Get {
				_, err = r.call()
			} else {
				err = r.abort()
			}
			require.Contains(t, classified(t, err, local.Permanent, a2a.CodeMalformed).Message, named, method)
		}
		close(done)
	}
}

// A stream that brings the answer to another request says nothing: what counts is the look behind it.
func TestAStreamThatAnswersAnotherRequestIsLeft(t *testing.T) {
	t.Parallel()
	for name, id := range map[string]string{"a text": `"x"`, "a number": `7`, "null": `null`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			done := make(chan struct{})
			peer := a2atest.New(t, a2atest.Until(done, "done"))
			left := make(chan struct{})
			peer.Intercept(func(w http.ResponseWriter, r *http.Request, m string, _ http.Handler) bool {
				if m != a2atest.Resubscribe {
					return false
				}
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = fmt.Fprintf(w, ": hello\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", a2atest.ID(r), workingUpdate)
				_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", id, workingUpdate)
				w.(http.Flusher).Flush()
				<-r.Context().Done() // the stream would go on
				close(left)
				return true
			})
			var said lines
			r := newRun(t, build(t, a2a.Config{Logger: slog.New(slog.NewTextHandler(&said, nil))}, endpoint(peer.URL, streaming)))
			r.must("work")
			require.True(t, awaiting(r.must()), "the run goes on")
			<-left
			require.Contains(t, said.String(), "answered another request")
			require.Contains(t, said.String(), "the id of the answer is")
			peer.Intercept(nil)
			close(done)
			require.Equal(t, "done", *r.finish(r.must()).Output.Text)
		})
	}
}

const workingUpdate = `{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"working"}}`

// Some servers write no blank behind "data:", some end lines otherwise, and what is no field of data is none of ours.
func TestStreamsMayBeWrittenInEveryWay(t *testing.T) {
	t.Parallel()
	const ended = `{"kind":"status-update","taskId":"t","contextId":"c","final":true,"status":{"state":"completed"}}`
	for name, format := range map[string]string{
		"no blank": "event: x\nid: 4\ndata:%s\n\n", "a blank": "data: %s\n\n", "carriage returns": ":\r\ndata: %s\r\n\r\n",
		"no end": "data: %s", "more blanks": "retry: 5\ndata:   %s  \n\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			done := make(chan struct{})
			peer := a2atest.New(t, a2atest.Until(done, "done"))
			peer.Intercept(func(w http.ResponseWriter, r *http.Request, m string, _ http.Handler) bool {
				if m != a2atest.Resubscribe {
					return false
				}
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = fmt.Fprintf(w, format, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, a2atest.ID(r), ended))
				w.(http.Flusher).Flush()
				if name != "no end" {
					<-r.Context().Done() // it is left when it has told of the end
				}
				return true
			})
			r := newRun(t, build(t, a2a.Config{}, endpoint(peer.URL, streaming)))
			r.must("work")
			require.True(t, awaiting(r.must()), "what counts is the look behind it")
			close(done)
			require.Equal(t, "done", *r.finish(r.must()).Output.Text)
		})
	}
}

// A piece of an artifact that is longer than the SDK's lines does not end the watch.
func TestALongPieceOfAnArtifactIsPassedOver(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	peer, seen := a2atest.New(t, a2atest.Until(done, "done")), &observer{}
	event := `{"jsonrpc":"2.0","id":%s,"result":{"kind":"%s","taskId":"t","contextId":"c",%s}}`
	peer.Intercept(func(w http.ResponseWriter, r *http.Request, m string, _ http.Handler) bool {
		if m != a2atest.Resubscribe {
			return false
		}
		w.Header().Set("Content-Type", "text/event-stream")
		piece := fmt.Sprintf(`"artifact":{"artifactId":"a","parts":[{"kind":"text","text":"%s"}]}`, strings.Repeat("x", 200<<10))
		_, _ = fmt.Fprintf(w, "data: "+event+"\n\n", a2atest.ID(r), "artifact-update", piece)
		_, _ = fmt.Fprintf(w, "data: "+event+"\n\n", a2atest.ID(r), "status-update", `"final":true,"status":{"state":"completed"}`)
		w.(http.Flusher).Flush()
		<-r.Context().Done() // it is left when it has told of the end
		return true
	})
	r := newRun(t, build(t, a2a.Config{Observer: seen}, endpoint(peer.URL, streaming)))
	r.must("work")
	r.must()
	require.Contains(t, seen.all(), "distant tasks/resubscribe ok")
	close(done)
	require.Equal(t, "done", *r.finish(r.must()).Output.Text)
}

// lines is what was logged.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

var _ io.Writer = (*lines)(nil)

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
