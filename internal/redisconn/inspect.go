package redisconn

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Unknown is the value of a fact that Redis did not tell.
const Unknown = "unknown"

// inspectTimeout bounds Inspect when the caller's context does not.
const inspectTimeout = 10 * time.Second

// Facts are what Redis told about itself. Of a cluster they are those of the first master; the warnings are of all.
type Facts struct {
	Server          string   `json:"server"`  // redis or valkey
	Version         string   `json:"version"` // its own, such as 7.0.15
	Mode            string   `json:"mode"`    // standalone, sentinel or cluster, as the server says
	Nodes           int      `json:"nodes"`   // masters that were asked
	MaxMemory       int64    `json:"maxMemoryBytes"`
	MaxMemoryPolicy string   `json:"maxMemoryPolicy"`
	AppendOnly      string   `json:"appendOnly"`  // yes, no or unknown
	AppendFsync     string   `json:"appendFsync"` // always, everysec, no or unknown
	Snapshots       string   `json:"snapshots"`   // the save rule; none or unknown
	Warnings        []string `json:"warnings,omitempty"`
}

// Inspect asks Redis (every master of a cluster) for its version, eviction policy and persistence, and says in Warnings
// what makes it unfit for a journal. It writes nothing. An error means that Redis did not answer.
func Inspect(ctx context.Context, rdb redis.UniversalClient) (Facts, error) {
	ctx, cancel := context.WithTimeout(ctx, inspectTimeout)
	defer cancel()
	cluster, ok := rdb.(*redis.ClusterClient)
	if !ok {
		return inspectNode(ctx, rdb)
	}
	var (
		mu  sync.Mutex
		all Facts
	)
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
		facts, err := inspectNode(ctx, master)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		all = merge(all, facts, master.Options().Addr)
		return nil
	})
	if err != nil {
		return Facts{}, fmt.Errorf("inspect redis cluster: %w", err)
	}
	return all, nil
}

// merge adds the facts of one more master.
func merge(all, facts Facts, addr string) Facts {
	if all.Nodes == 0 {
		all = facts
		all.Nodes, all.Warnings = 0, nil
	}
	all.Nodes++
	for _, warning := range facts.Warnings {
		all.Warnings = append(all.Warnings, addr+": "+warning)
	}
	return all
}

func inspectNode(ctx context.Context, rdb redis.Cmdable) (Facts, error) {
	var texts []string
	for _, section := range []string{"server", "memory", "persistence"} {
		text, err := rdb.Info(ctx, section).Result()
		if err != nil {
			return Facts{}, fmt.Errorf("inspect redis: INFO %s: %w", section, AtTheDoor(ctx, rdb, err))
		}
		texts = append(texts, text)
	}
	info := parseInfo(strings.Join(texts, "\n"))
	config := make(map[string]string)
	for _, name := range []string{"maxmemory-policy", "appendonly", "appendfsync", "save"} {
		values, err := rdb.ConfigGet(ctx, name).Result()
		if err != nil && !refused(err) {
			return Facts{}, fmt.Errorf("inspect redis: CONFIG GET %s: %w", name, err)
		}
		if value, ok := values[name]; ok {
			config[name] = value
		}
	}
	facts := factsOf(info, config)
	facts.Warnings = warningsOf(facts)
	return facts, nil
}

// refused reports whether Redis answered with an error of its own: CONFIG renamed, forbidden or unknown. A managed Redis
// does so, and only leaves facts unknown.
func refused(err error) bool {
	var answer redis.Error
	return errors.As(err, &answer)
}

func parseInfo(text string) map[string]string {
	info := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && !strings.HasPrefix(name, "#") {
			info[name] = value
		}
	}
	return info
}

func factsOf(info, config map[string]string) Facts {
	facts := Facts{
		Server: "redis", Version: known(info, "redis_version"), Mode: known(info, "redis_mode"), Nodes: 1,
		MaxMemoryPolicy: known(info, "maxmemory_policy"), AppendOnly: Unknown,
		AppendFsync: known(config, "appendfsync"), Snapshots: Unknown,
	}
	if version, ok := info["valkey_version"]; ok { // its redis_version is the one that it is compatible with, for ever 7.2.4
		facts.Server, facts.Version = "valkey", version
	}
	if mode, ok := info["server_mode"]; ok { // Valkey's name for it
		facts.Mode = mode
	}
	facts.MaxMemory, _ = strconv.ParseInt(info["maxmemory"], 10, 64) // 0 when it is not told
	if policy, ok := config["maxmemory-policy"]; ok {
		facts.MaxMemoryPolicy = policy
	}
	switch {
	case config["appendonly"] != "":
		facts.AppendOnly = config["appendonly"]
	case info["aof_enabled"] == "1":
		facts.AppendOnly = "yes"
	case info["aof_enabled"] == "0":
		facts.AppendOnly = "no"
	}
	if save, ok := config["save"]; ok {
		if facts.Snapshots = save; save == "" {
			facts.Snapshots = "none"
		}
	}
	return facts
}

func known(values map[string]string, name string) string {
	if value := values[name]; value != "" {
		return value
	}
	return Unknown
}
