package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/internal/redisconn"
)

// site is a Redis installation to measure on.
type site struct {
	url     string          // what loads connect to
	nodes   []*redis.Client // its masters, asked directly
	servers []*redisServer  // ours; empty when it was given
	proxy   *delayProxy     // what stands before it, or nil
}

// SiteSnap is a reading of the servers' own counters.
type SiteSnap struct {
	CPU      time.Duration
	NetIn    int64 // bytes received
	Used     int64 // memory
	AOF      int64 // size of the append-only files
	Commands int64
}

// newSite starts a standalone server.
func newSite(ctx context.Context, settings ...string) (*site, error) {
	server, err := startServer(ctx, settings...)
	if err != nil {
		return nil, err
	}
	return &site{
		url: "redis://" + server.addr, servers: []*redisServer{server},
		nodes: []*redis.Client{redis.NewClient(&redis.Options{Addr: server.addr})},
	}, nil
}

// givenSite is the Redis of a URL, which must be a standalone one and empty.
func givenSite(ctx context.Context, url string) (*site, error) {
	target, err := redisconn.Parse(url)
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	if target.Mode != redisconn.Standalone {
		return nil, errors.New("bench: the Redis to measure on must be a standalone one; the sweep cluster starts its own")
	}
	opened, err := redisconn.Open(redisconn.Config{URL: url})
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	node, ok := opened.(*redis.Client)
	if !ok {
		return nil, errors.Join(errors.New("bench: not a standalone Redis"), opened.Close())
	}
	keys, err := node.DBSize(ctx).Result()
	if err == nil && keys > 0 {
		err = fmt.Errorf("it holds %d keys: it is emptied between measurements, so name an empty one", keys)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("bench: redis at %s: %w", redisconn.Redact(url), err), node.Close())
	}
	return &site{url: url, nodes: []*redis.Client{node}}, nil
}

// own reports whether settings may be changed.
func (s *site) own() bool { return len(s.servers) > 0 }

// close ends the servers that are ours.
func (s *site) close() {
	for _, node := range s.nodes {
		_ = node.Close() // nothing can be lost
	}
	for _, server := range s.servers {
		server.stop()
	}
}

// empty removes all data, and what the append-only file holds of it.
func (s *site) empty(ctx context.Context) error {
	for _, node := range s.nodes {
		if err := node.FlushDB(ctx).Err(); err != nil {
			return fmt.Errorf("bench: empty redis: %w", err)
		}
		if !s.own() {
			continue
		}
		info, err := readInfo(ctx, node, "persistence")
		if err != nil {
			return err
		}
		if info["aof_enabled"] != "1" {
			continue
		}
		if err := node.BgRewriteAOF(ctx).Err(); err != nil {
			return fmt.Errorf("bench: rewrite the append-only file: %w", err)
		}
		if err := awaitRewrite(ctx, node); err != nil {
			return err
		}
	}
	return nil
}

func awaitRewrite(ctx context.Context, node *redis.Client) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return poll(ctx, 20*time.Millisecond, func() (bool, error) {
		info, err := readInfo(ctx, node, "persistence")
		return info["aof_rewrite_in_progress"] == "0" && info["aof_rewrite_scheduled"] == "0", err
	})
}

// configure changes settings of servers that are ours.
func (s *site) configure(ctx context.Context, settings ...string) error {
	for _, node := range s.nodes {
		for i := 0; i < len(settings); i += 2 {
			if err := node.ConfigSet(ctx, settings[i], settings[i+1]).Err(); err != nil {
				return fmt.Errorf("bench: set %s: %w", settings[i], err)
			}
		}
		if err := awaitRewrite(ctx, node); err != nil {
			return err
		}
	}
	return nil
}

// snap reads the counters of all nodes.
func (s *site) snap(ctx context.Context) (SiteSnap, error) {
	var out SiteSnap
	for _, node := range s.nodes {
		info, err := readInfo(ctx, node, "cpu", "stats", "memory", "persistence")
		if err != nil {
			return out, err
		}
		seconds := info.number("used_cpu_sys") + info.number("used_cpu_user")
		out.CPU += time.Duration(seconds * float64(time.Second))
		out.NetIn += int64(info.number("total_net_input_bytes"))
		out.Used += int64(info.number("used_memory"))
		out.AOF += int64(info.number("aof_current_size"))
		out.Commands += int64(info.number("total_commands_processed"))
	}
	return out, nil
}

// info is the answer to INFO.
type info map[string]string

func (i info) number(name string) float64 {
	value, err := strconv.ParseFloat(i[name], 64)
	if err != nil {
		return 0
	}
	return value
}

func readInfo(ctx context.Context, node *redis.Client, sections ...string) (info, error) {
	text, err := node.Info(ctx, sections...).Result()
	if err != nil {
		return nil, fmt.Errorf("bench: ask redis: %w", err)
	}
	return parseInfo(text), nil
}

func parseInfo(text string) info {
	out := info{}
	for line := range strings.SplitSeq(text, "\r\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			out[name] = value
		}
	}
	return out
}
