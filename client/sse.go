package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-run/pawl/execution"
)

// maxLine bounds one line of a stream: an event carries an answer at most.
const maxLine = 16 << 20

// connection is one open event stream. A watchdog cuts it when nothing, not even a heartbeat, has come for a while: a
// half-open connection never ends by itself.
type connection struct {
	nothingLeft bool // the execution had ended and its log was read to the end
	body        io.ReadCloser
	lines       *bufio.Reader
	cancel      context.CancelFunc
	idle        time.Duration
	watchdog    *time.Timer
}

func newConnection(
	answer *http.Response, cancel context.CancelFunc, idle time.Duration, watchdog *time.Timer,
) *connection {
	return &connection{
		nothingLeft: answer.StatusCode == http.StatusNoContent,
		body:        answer.Body, lines: bufio.NewReader(answer.Body),
		cancel: cancel, idle: idle, watchdog: watchdog,
	}
}

// errMalformed: what came is not an event stream of Pawl's. Opening it anew would bring the same.
var errMalformed = errors.New("malformed message")

func (c *connection) close() {
	c.watchdog.Stop()
	c.cancel()
	_ = c.body.Close() // nothing more is read from it
}

// next reads the next message.
func (c *connection) next() (execution.StreamItem, error) {
	var m message
	c.watchdog.Reset(c.idle)
	defer c.watchdog.Stop() // a reader that takes its time is no silence of the API
	for {
		line, err := c.line()
		if err != nil {
			return execution.StreamItem{}, err
		}
		if line != "" {
			m.add(line)
			continue
		}
		if !m.empty() {
			return m.item()
		}
		m = message{}
	}
}

// line reads one line without its end. Every byte that arrives feeds the watchdog.
func (c *connection) line() (string, error) {
	var line []byte
	for {
		part, err := c.lines.ReadSlice('\n')
		c.watchdog.Reset(c.idle)
		line = append(line, part...)
		switch {
		case err == nil:
			return strings.TrimRight(string(line), "\r\n"), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", fmt.Errorf("read the stream: %w", err)
		case len(line) > maxLine:
			return "", fmt.Errorf("%w: a line is longer than %d bytes", errMalformed, maxLine)
		}
	}
}

// message is one message of an event stream, line by line.
type message struct {
	id   string
	kind string
	data []string
}

func (m *message) empty() bool { return len(m.data) == 0 }

func (m *message) add(line string) {
	name, value, _ := strings.Cut(line, ":")
	value = strings.TrimPrefix(value, " ")
	switch name {
	case "id":
		m.id = value
	case "event":
		m.kind = value
	case "data":
		m.data = append(m.data, value)
	}
}

// item decodes the message: with an id it is an event, without one a frame.
func (m *message) item() (execution.StreamItem, error) {
	data := []byte(strings.Join(m.data, "\n"))
	if m.id == "" {
		frame := new(execution.Frame)
		if err := json.Unmarshal(data, frame); err != nil {
			return execution.StreamItem{}, fmt.Errorf("%w: frame %s: %w", errMalformed, m.kind, err)
		}
		return execution.StreamItem{Frame: frame}, nil
	}
	sequence, err := strconv.ParseUint(m.id, 10, 64)
	if err != nil {
		return execution.StreamItem{}, fmt.Errorf("%w: an event's id: %w", errMalformed, err)
	}
	event, err := execution.ReadEvent(data)
	if err != nil || event.Sequence != execution.Sequence(sequence) {
		return execution.StreamItem{}, fmt.Errorf("%w: event %d: %w", errMalformed, sequence, err)
	}
	return execution.StreamItem{Event: &event}, nil
}
