// Package wiretest plays a provider's side of a conversation from a transcript and checks the other side, for tests.
//
// A transcript is a text file: a line on where it comes from, then for each exchange a section "-- request N --" with the
// JSON that must be sent and a section "-- response N --" with the stream of events that answers it. What is sent is also
// held against the rules of the provider's API, by test/modelserver.
//
// The transcripts in testdata were written from the public references of the APIs, by hand; none of them was recorded. With
// a key, make record writes some that are, into testdata/recorded; they are played like the others when they are there.
//
// It must not know a provider.
package wiretest

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/modelserver"
)

// update rewrites the requests of transcripts; what changed is then for a person to judge.
var update = flag.Bool("update", false, "rewrite the requests of the transcripts") //nolint:gochecknoglobals // a flag

// Frames collects frames.
type Frames struct {
	mu   sync.Mutex
	text []string // guarded by mu
}

// Frame is the local.Sink.
func (f *Frames) Frame(frame execution.Frame) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.text = append(f.text, frame.Text)
}

// Deltas are the texts of the frames.
func (f *Frames) Deltas() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.text...)
}

// Turn is what the other side does after an answer: give its calls these results, or, when the answer has none, say this.
type Turn struct {
	Results []func(call execution.ToolCall) execution.ToolResult
	Say     string
}

// Player plays transcripts with a provider's models.
type Player struct {
	Check func(*http.Request) // sees each request
	Build func(url string) local.Model
	Real  Real
}

// Play serves the transcript at file and talks to a model about the case: first says its text, then does its turns one
// after the other. It checks each request, and that the text arrived in pieces, and returns the answers.
func (p Player) Play(t *testing.T, file string, c Case) []local.ModelResponse {
	t.Helper()
	transcript := load(t, file)
	server := httptest.NewServer(transcript.handler(t, p.Check))
	defer server.Close()
	answers := converse(t, p.Build(server.URL), c)
	transcript.done(t, file)
	return answers
}

// PlayRecorded plays the transcript of the case that was recorded from the real API, if there is one, and with the flag
// record records it first.
func (p Player) PlayRecorded(t *testing.T, c Case) {
	t.Helper()
	file, exists := Recorded(c.Name)
	if !exists {
		t.Skip("none was recorded; make record does, with a key")
	}
	if *record {
		url, save := newRecorder(t, p.Real).serve(t)
		converse(t, p.Build(url), c)
		save(file)
	}
	answers := p.Play(t, file, c)
	require.NotEmpty(t, answers[len(answers)-1].FinishReason)
	for _, answer := range answers {
		require.NotNil(t, answer.Usage, "real APIs report what they charge")
	}
}

// converse talks to a model about the case.
func converse(t *testing.T, model local.Model, c Case) []local.ModelResponse {
	t.Helper()
	request := Request()
	request.Messages = append(request.Messages, execution.Message{Role: execution.RoleUser, Text: c.Say})
	var answers []local.ModelResponse
	for turn := 0; ; turn++ {
		var frames Frames
		request.Attempt = turn
		answer, err := model.Generate(t.Context(), request, &frames)
		require.NoError(t, err, "request %d", turn+1)
		require.Equal(t, answer.Text, strings.Join(frames.Deltas(), ""))
		for i := range answer.ToolCalls {
			answer.ToolCalls[i].CallID = execution.NewCallID(turn, i)
		}
		answers = append(answers, answer)
		if turn == len(c.Turns) {
			return answers
		}
		require.Len(t, answer.ToolCalls, len(c.Turns[turn].Results), "calls that the case answers")
		request.Messages = append(request.Messages, follow(answer, c.Turns[turn])...)
	}
}

func follow(answer local.ModelResponse, turn Turn) []execution.Message {
	messages := []execution.Message{{Role: execution.RoleAssistant, Text: answer.Text, ToolCalls: answer.ToolCalls}}
	for i, call := range answer.ToolCalls {
		result := turn.Results[i](call)
		messages = append(messages, execution.Message{Role: execution.RoleTool, ToolResult: &result})
	}
	if turn.Say != "" {
		messages = append(messages, execution.Message{Role: execution.RoleUser, Text: turn.Say})
	}
	return messages
}

type transcript struct {
	head      string
	exchanges []exchange

	mu   sync.Mutex
	next int // guarded by mu
}

type exchange struct{ request, response string }

func load(t *testing.T, file string) *transcript {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	parts := strings.Split(string(data), "-- request ")
	tr := &transcript{head: parts[0]}
	for i, part := range parts[1:] {
		number := fmt.Sprint(i + 1)
		request, response, ok := strings.Cut(strings.TrimPrefix(part, number+" --\n"), "-- response "+number+" --\n")
		require.True(t, ok, "%s: exchange %s", file, number)
		tr.exchanges = append(tr.exchanges, exchange{request: request, response: response})
	}
	require.Regexp(t, "not recorded|^Recorded on ", tr.head, "a transcript says where it comes from")
	return tr
}

func (tr *transcript) handler(t *testing.T, check func(*http.Request)) http.Handler {
	t.Helper()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tr.mu.Lock()
		defer tr.mu.Unlock()
		body, err := io.ReadAll(r.Body)
		if err != nil || tr.next == len(tr.exchanges) {
			t.Errorf("a request too many: %s %v", body, err)
			http.Error(w, "unexpected", http.StatusTeapot)
			return
		}
		check(r)
		if err := modelserver.Check(r, body); err != nil {
			t.Errorf("request %d: the provider would answer 400: %v", tr.next+1, err)
		}
		now := &tr.exchanges[tr.next]
		tr.next++
		if got := indented(t, string(body)); *update {
			now.request = got
		} else if want := indented(t, now.request); want != got {
			t.Errorf("request %d: want %s\ngot %s", tr.next, want, got)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for event := range strings.SplitAfterSeq(now.response, "\n\n") {
			_, _ = io.WriteString(w, event)
			w.(http.Flusher).Flush()
		}
	})
}

func (tr *transcript) done(t *testing.T, file string) {
	t.Helper()
	tr.mu.Lock()
	defer tr.mu.Unlock()
	require.Equal(t, len(tr.exchanges), tr.next, "exchanges")
	if !*update {
		return
	}
	require.NoError(t, os.WriteFile(file, []byte(tr.String()), 0o600))
}

// indented is JSON in one form: keys sorted, one a line.
func indented(t *testing.T, text string) string {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Errorf("no JSON: %v: %s", err, text)
	}
	out, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		t.Errorf("encode: %v", err)
	}
	return string(out) + "\n"
}

// Ask serves one answer, the stream, and returns the body of the request, in one form, and what became of it.
func Ask(t *testing.T, stream string, build func(url string) local.Model, request local.ModelRequest) (string, local.ModelResponse, []string, error) {
	t.Helper()
	body := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		if err := modelserver.Check(r, data); err != nil {
			t.Errorf("the provider would answer 400: %v", err)
		}
		body <- string(data)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, stream)
	}))
	defer server.Close()
	var frames Frames
	response, err := build(server.URL).Generate(t.Context(), request, &frames)
	return indented(t, <-body), response, frames.Deltas(), err
}
