package redisconn

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	doorTimeout = 2 * time.Second // for what a server says unasked
	doorLimit   = 4096            // bytes of it; the text of protected mode takes a thousand
	doorShown   = 120             // bytes of it that are shown
)

// turnedAway is what a server says before it closes a connection that it does not want. It counts as an answer of Redis.
type turnedAway string

func (t turnedAway) Error() string { return string(t) }

// RedisError makes it a redis.Error.
func (turnedAway) RedisError() {}

// AtTheDoor puts the server's own words in the place of an error that a closed connection left. A server that turns everybody
// away (protected mode, too many clients) says why and closes; who has written meanwhile is told of the closed connection alone. Other
// errors come back as they are.
func AtTheDoor(ctx context.Context, rdb redis.Cmdable, err error) error {
	client, ok := rdb.(*redis.Client)
	closed := errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF)
	if !ok || !closed {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, doorTimeout)
	defer cancel()
	options := client.Options()
	conn, dialErr := options.Dialer(ctx, options.Network, options.Addr)
	if dialErr != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	deadline, _ := ctx.Deadline()
	_ = conn.SetReadDeadline(deadline)
	line, _ := bufio.NewReader(io.LimitReader(conn, doorLimit)).ReadString('\n') // nothing is written: nothing breaks
	words, said := strings.CutPrefix(strings.TrimSpace(line), "-")
	if !said {
		return err
	}
	if strings.HasPrefix(words, "DENIED") {
		return turnedAway("Redis runs in protected mode and takes connections of its own machine only: " +
			"give it a password, or set protected-mode no where nobody else reaches it")
	}
	return turnedAway(words[:min(len(words), doorShown)])
}
