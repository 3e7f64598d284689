package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-run/pawl/execution"
)

const typeStream = "text/event-stream"

// maxLine bounds one line of a stream: an event carries an answer at most.
const maxLine = 16 << 20

// connection is one open event stream. A watchdog cuts it when nothing, not even a heartbeat, has come for a while: a
// half-open connection never ends by itself.
type connection struct {
	nothingLeft bool      // the execution had ended and its log was read to the end
	opened      time.Time // by the API's clock
	body        io.ReadCloser
	lines       *bufio.Reader
	cancel      context.CancelFunc
	idle        time.Duration
	watchdog    *time.Timer
}

// open opens a stream. cursor is the Last-Event-ID, if it has one. It lives until it is closed or ctx ends.
func (c *Client) open(ctx context.Context, path string, query url.Values, cursor string) (*connection, error) {
	streamCtx, cancel := context.WithCancel(ctx)
	idle := 3 * c.cfg.Heartbeat
	watchdog := time.AfterFunc(idle, cancel)
	header := http.Header{"Accept": {typeStream}}
	if cursor != "" {
		header["Last-Event-Id"] = []string{cursor}
	}
	answer, err := c.send(streamCtx, call{method: http.MethodGet, path: path, query: query, header: header}, nil)
	if err != nil {
		watchdog.Stop()
		cancel()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	opened := &connection{
		nothingLeft: answer.StatusCode == http.StatusNoContent, opened: time.Now(),
		body: answer.Body, lines: bufio.NewReader(answer.Body),
		cancel: cancel, idle: idle, watchdog: watchdog,
	}
	if at, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		opened.opened = at
	}
	if answer.StatusCode >= http.StatusMultipleChoices {
		defer opened.close()
		return nil, ofCursor(decode(answer, nil))
	}
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type")) // what cannot be read is another type
	if !opened.nothingLeft && kind != typeStream {
		opened.close()
		return nil, execution.NewAPIError(execution.Internal,
			"what %s answers is no stream of Pawl's API", answer.Request.URL.Host).Because(errMalformed)
	}
	return opened, nil
}

// ofCursor names an error about the header by what the caller gave.
func ofCursor(err error) error {
	var problem *execution.APIError
	if errors.As(err, &problem) && problem.Field == "Last-Event-ID" {
		return problem.In("after")
	}
	return err
}

// openFirst opens a stream as calls are sent: again, when that is useful. Later on a stream is opened as long as it takes.
func (c *Client) openFirst(ctx context.Context, path string, query url.Values, cursor string) (*connection, error) {
	for attempt := 1; ; attempt++ {
		opened, err := c.open(ctx, path, query, cursor)
		if err == nil || !c.again(call{repeat: true}, err) || !c.wait(ctx, attempt, err) {
			return opened, err
		}
	}
}

// errMalformed: what came is not of Pawl's API. Asking anew would bring the same.
var errMalformed = errors.New("malformed message")

func (c *connection) close() {
	c.watchdog.Stop()
	c.cancel()
	_ = c.body.Close() // nothing more is read from it
}

// arrived is a message of a stream. One that carries nothing says that the log was passed up to a sequence.
type arrived struct {
	execution.StreamItem
	passed execution.Sequence
}

// next reads the next message.
func (c *connection) next() (arrived, error) {
	var m message
	c.watchdog.Reset(c.idle)
	defer c.watchdog.Stop() // a reader that takes its time is no silence of the API
	for {
		line, err := c.line()
		if err != nil {
			return arrived{}, err
		}
		if line != "" {
			m.add(line)
			continue
		}
		if len(m.data) > 0 || m.id != "" {
			return m.read()
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

// read decodes the message. An event has a sequence, as the message's id where the stream is that of one execution; a frame
// has none.
func (m *message) read() (arrived, error) {
	data := []byte(strings.Join(m.data, "\n"))
	var sequence uint64
	if m.id != "" {
		var err error
		if sequence, err = strconv.ParseUint(m.id, 10, 64); err != nil {
			return arrived{}, fmt.Errorf("%w: an event's id: %w", errMalformed, err)
		}
		if len(m.data) == 0 {
			return arrived{passed: execution.Sequence(sequence)}, nil
		}
	}
	var head struct {
		Execution execution.ID       `json:"executionId"`
		Sequence  execution.Sequence `json:"sequence"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return arrived{}, fmt.Errorf("%w: %s: %w", errMalformed, m.kind, err)
	}
	if head.Sequence == 0 && m.id == "" {
		frame := new(execution.Frame)
		if err := json.Unmarshal(data, frame); err != nil {
			return arrived{}, fmt.Errorf("%w: frame %s: %w", errMalformed, m.kind, err)
		}
		return arrived{StreamItem: execution.StreamItem{Execution: head.Execution, Frame: frame}}, nil
	}
	event, err := execution.ReadEvent(data)
	if err == nil && m.id != "" && event.Sequence != execution.Sequence(sequence) {
		err = fmt.Errorf("its sequence is %d", event.Sequence)
	}
	if err != nil {
		return arrived{}, fmt.Errorf("%w: event %s: %w", errMalformed, m.id, err)
	}
	return arrived{StreamItem: execution.StreamItem{Execution: head.Execution, Event: &event}}, nil
}
