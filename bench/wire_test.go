package bench

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// wire counts round trips where they happen, at the connections: whatever is written between two reads of one connection
// is one. It is a go-redis hook.
type wire struct {
	mu    sync.Mutex
	trips [][]command // guarded by mu
}

// command is the beginning of one, to its fourth word, of a script its first key, and how many words it has.
type command struct {
	begin []string
	words int
}

// DialHook implements redis.Hook.
func (w *wire) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &wiredConn{Conn: conn, wire: w}, nil
	}
}

// ProcessHook implements redis.Hook.
func (w *wire) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// ProcessPipelineHook implements redis.Hook.
func (w *wire) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// take returns the trips so far and begins anew.
func (w *wire) take() [][]command {
	w.mu.Lock()
	defer w.mu.Unlock()
	trips := w.trips
	w.trips = nil
	return trips
}

type wiredConn struct {
	net.Conn
	wire    *wire
	mu      sync.Mutex
	writing bool // nothing was read since; guarded by mu
}

func (c *wiredConn) Write(data []byte) (int, error) {
	c.mu.Lock()
	first := !c.writing
	c.writing = true
	c.mu.Unlock()
	if first {
		c.wire.mu.Lock()
		c.wire.trips = append(c.wire.trips, commandsOf(data))
		c.wire.mu.Unlock()
	}
	return c.Conn.Write(data)
}

func (c *wiredConn) Read(data []byte) (int, error) {
	n, err := c.Conn.Read(data)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writing = c.writing && n == 0
	return n, err
}

// commandsOf are the commands of what is written.
func commandsOf(data []byte) []command {
	r := bufio.NewReader(bytes.NewReader(data))
	number := func(sign byte) int {
		line, err := r.ReadString('\n')
		if err != nil || line[0] != sign {
			return 0
		}
		n, _ := strconv.Atoi(strings.TrimSpace(line[1:])) // 0 ends the reading
		return n
	}
	var commands []command
	for {
		words := number('*')
		if words == 0 {
			return commands
		}
		c := command{words: words}
		for i := range words {
			word := make([]byte, number('$')+len("\r\n"))
			if _, err := io.ReadFull(r, word); err != nil {
				break // the rest follows in another write
			}
			if i < 4 {
				c.begin = append(c.begin, strings.TrimSpace(string(word)))
			}
		}
		commands = append(commands, c)
	}
}
