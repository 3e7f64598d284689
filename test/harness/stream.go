package harness

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/execution"
)

const streamTimeout = 30 * time.Second

// Message is one server-sent event; ID is 0 for frames, which carry none.
type Message struct {
	ID   execution.Sequence
	Type string
	Data string
}

// Stream is an open event stream.
type Stream struct {
	tb     testing.TB
	body   *bufio.Scanner
	cancel context.CancelFunc
	close  func() error
}

// Stream opens the event stream of an execution, after the given sequence (0: from the start).
func (a *API) Stream(id execution.ID, after execution.Sequence) *Stream {
	a.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), streamTimeout)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.URL+"/v1/executions/"+string(id)+"/events", nil)
	if err != nil {
		cancel()
		a.tb.Fatalf("stream: %v", err)
	}
	request.Header.Set("Accept", "text/event-stream")
	if after > 0 {
		request.Header.Set("Last-Event-ID", strconv.FormatUint(uint64(after), 10))
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		cancel()
		a.tb.Fatalf("stream: %v", err)
	}
	stream := &Stream{tb: a.tb, body: bufio.NewScanner(response.Body), cancel: cancel, close: response.Body.Close}
	// 204, without a body, tells a client that nothing will ever follow.
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusNoContent {
		stream.Cut()
		a.tb.Fatalf("stream of %s: status %d", id, response.StatusCode)
	}
	return stream
}

// Cut closes the connection.
func (s *Stream) Cut() {
	s.cancel()
	_ = s.close() // cut on purpose
}

// Next returns the next event of the log, frames and heartbeats left out; false at the end of the stream.
func (s *Stream) Next() (Message, bool) {
	s.tb.Helper()
	return s.next(func(m Message) bool { return m.ID > 0 })
}

// Any returns the next event or frame; false at the end of the stream.
func (s *Stream) Any() (Message, bool) {
	s.tb.Helper()
	return s.next(func(m Message) bool { return m.Type != "" })
}

func (s *Stream) next(wanted func(Message) bool) (Message, bool) {
	s.tb.Helper()
	var message Message
	for s.body.Scan() {
		line := s.body.Text()
		if line == "" {
			if wanted(message) {
				return message, true
			}
			message = Message{}
			continue
		}
		if err := message.field(line); err != nil {
			s.tb.Fatalf("stream: %v", err)
		}
	}
	return Message{}, false
}

func (m *Message) field(line string) error {
	name, value, _ := strings.Cut(line, ":")
	value = strings.TrimPrefix(value, " ")
	switch name {
	case "id":
		n, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			return fmt.Errorf("id %q: %w", value, err)
		}
		m.ID = execution.Sequence(n)
	case "event":
		m.Type = value
	case "data":
		m.Data += value
	}
	return nil
}
