package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// masterName is what the Sentinel calls the pair that it watches.
	masterName = "main"
	// silence is how long a primary has been silent before its Sentinel replaces it: longer than a busy machine lets it starve.
	silence = 3 * time.Second
)

// Pair is a primary and its replica, watched by a Sentinel that promotes the replica when the primary has been silent for 3 s.
type Pair struct {
	Primary, Replica *Server
	Sentinel         *Server
}

// StartPair starts a primary and a replica with the given extra arguments, and a Sentinel, and waits until the replica has
// what the primary has and the Sentinel knows both. They end with the test.
func StartPair(tb testing.TB, args ...string) *Pair {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), formTimeout)
	defer cancel()
	p := &Pair{Primary: Start(tb, args...)}
	p.Replica = Start(tb, slices.Concat(args, replicaOf(p.Primary))...)
	var err error
	if p.Sentinel, err = newSentinel(tb.TempDir(), p.Primary); err != nil {
		tb.Fatalf("redistest: %v", err)
	}
	tb.Cleanup(p.Sentinel.Kill)
	replica, sentinel := p.Replica.Client(tb), redis.NewSentinelClient(&redis.Options{Addr: p.Sentinel.Addr()})
	tb.Cleanup(func() { _ = sentinel.Close() }) // the test is over: nobody waits for the error
	if err := until(ctx, func() error { return paired(ctx, replica, sentinel) }); err != nil {
		tb.Fatalf("redistest: the pair is not whole: %v", err)
	}
	return p
}

// URL is the pair's redis+sentinel:// URL.
func (p *Pair) URL() string { return "redis+sentinel://" + p.Sentinel.Addr() + "/" + masterName }

// Client is a client of whichever of the two is the primary, closed with the test.
func (p *Pair) Client(tb testing.TB) *redis.Client {
	tb.Helper()
	client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: masterName, SentinelAddrs: []string{p.Sentinel.Addr()}})
	tb.Cleanup(func() { _ = client.Close() }) // the test is over: nobody waits for the error
	return client
}

// Switch asks the Sentinel to put the replica in the primary's place while both live.
func (p *Pair) Switch(ctx context.Context) error {
	sentinel := redis.NewSentinelClient(&redis.Options{Addr: p.Sentinel.Addr()})
	return errors.Join(sentinel.Failover(ctx, masterName).Err(), sentinel.Close())
}

func replicaOf(primary *Server) []string {
	host, port, _ := net.SplitHostPort(primary.Addr()) // ours
	return []string{"--replicaof", host + " " + port}
}

// newSentinel starts a Sentinel, of which one is enough to decide.
func newSentinel(dir string, primary *Server) (*Server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s := &Server{addr: fmt.Sprintf("127.0.0.1:%d", port), dir: dir, config: filepath.Join(dir, "sentinel.conf")}
	host, watched, err := net.SplitHostPort(primary.Addr())
	if err != nil {
		return nil, err
	}
	lines := []string{
		fmt.Sprintf("port %d", port), "bind 127.0.0.1", "dir " + dir, "logfile " + filepath.Join(dir, "sentinel.log"),
		fmt.Sprintf("sentinel monitor %s %s %s 1", masterName, host, watched),
		fmt.Sprintf("sentinel down-after-milliseconds %s %d", masterName, silence.Milliseconds()),
		fmt.Sprintf("sentinel failover-timeout %s %d", masterName, (10 * time.Second).Milliseconds()),
	}
	if err := os.WriteFile(s.config, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		return nil, err
	}
	return s, s.start()
}

// paired reports why a pair is not whole yet.
func paired(ctx context.Context, replica *redis.Client, sentinel *redis.SentinelClient) error {
	info, err := replica.Info(ctx, "replication").Result()
	if err != nil {
		return err
	}
	if !strings.Contains(info, "master_link_status:up") {
		return fmt.Errorf("the replica has not caught up: %q", info)
	}
	replicas, err := sentinel.Replicas(ctx, masterName).Result()
	if err != nil {
		return err
	}
	if len(replicas) != 1 || replicas[0]["flags"] != "slave" || replicas[0]["master-link-status"] != "ok" {
		return fmt.Errorf("the Sentinel does not know the replica: %v", replicas)
	}
	return nil
}

// Promoted reports whether the server is a primary.
func (s *Server) Promoted(ctx context.Context) (bool, error) {
	client := redis.NewClient(&redis.Options{Addr: s.addr})
	info, err := client.Info(ctx, "replication").Result()
	return strings.Contains(info, "role:master"), errors.Join(err, client.Close())
}
