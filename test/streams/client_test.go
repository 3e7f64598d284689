package streams

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pawl-run/pawl/execution"
)

// client is one event stream of one execution, over as many connections as it takes. It costs one goroutine, so that
// thousands of them leave the machine to the API.
type client struct {
	id    execution.ID
	hosts []string      // the one it is at comes first
	open  chan struct{} // closed when the first connection is
	saw   func(late time.Duration)

	mu   sync.Mutex
	conn net.Conn
	cuts int

	sequences []execution.Sequence // owned by run until it has returned
}

var errEnded = errors.New("the stream is over")

// run follows until the terminal event.
func (c *client) run(ctx context.Context) error {
	for {
		err := c.connect(ctx)
		switch {
		case errors.Is(err, errEnded):
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("%s behind event %d: %w", c.id, c.last(), ctx.Err())
		}
		var refused *refusal
		if errors.As(err, &refused) {
			return err
		}
		c.turn()
	}
}

// opened says that there was a connection.
func (c *client) opened() {
	select {
	case <-c.open:
	default:
		close(c.open)
	}
}

func (c *client) last() execution.Sequence {
	if len(c.sequences) == 0 {
		return 0
	}
	return c.sequences[len(c.sequences)-1]
}

// turn goes to another replica.
func (c *client) turn() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hosts = append(c.hosts[1:], c.hosts[0])
}

// cut breaks the connection off.
func (c *client) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil {
		c.cuts++
		_ = c.conn.Close() // cut on purpose
	}
}

// refusal is an answer that is no stream.
type refusal struct {
	id     execution.ID
	status int
}

func (r *refusal) Error() string { return fmt.Sprintf("stream of %s: status %d", r.id, r.status) }

// connect reads one connection to its end.
func (c *client) connect(ctx context.Context) error {
	c.mu.Lock()
	host := c.hosts[0]
	c.mu.Unlock()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", host)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	defer func() { _ = conn.Close() }() // nothing more is read
	c.mu.Lock()
	c.conn = conn
	c.mu.Unlock()
	request := fmt.Sprintf("GET /v1/executions/%s/events HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n", c.id, host)
	if last := c.last(); last > 0 {
		request += fmt.Sprintf("Last-Event-ID: %d\r\n", last)
	}
	if _, err := conn.Write([]byte(request + "\r\n")); err != nil {
		return err
	}
	answer, err := http.ReadResponse(bufio.NewReaderSize(conn, 1024), nil)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // the connection goes with it
	switch answer.StatusCode {
	case http.StatusNoContent:
		return errEnded
	case http.StatusOK:
		c.opened()
		return c.read(bufio.NewReaderSize(answer.Body, 1024))
	default:
		return &refusal{c.id, answer.StatusCode}
	}
}

func (c *client) read(body *bufio.Reader) error {
	var id execution.Sequence
	for {
		line, err := body.ReadString('\n')
		if err != nil {
			return err
		}
		name, value, _ := strings.Cut(strings.TrimRight(line, "\n"), ": ")
		switch name {
		case "id":
			n, err := strconv.ParseUint(value, 10, 64)
			if err != nil {
				return fmt.Errorf("id: %w", err)
			}
			id = execution.Sequence(n)
		case "data":
			if id == 0 {
				continue // a frame
			}
			c.sequences = append(c.sequences, id)
			c.saw(time.Since(occurred(value)))
			if strings.Contains(value, `"type":"execution_completed"`) {
				return errEnded
			}
			id = 0
		}
	}
}

// occurred is when an event was committed, by the clock of the Redis on this machine.
func occurred(data string) time.Time {
	_, rest, _ := strings.Cut(data, `"occurredAtMs":`)
	digits, _, _ := strings.Cut(rest, ",")
	ms, _ := strconv.ParseInt(digits, 10, 64)
	return time.UnixMilli(ms)
}
