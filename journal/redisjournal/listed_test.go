package redisjournal

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// requireListed requires that the listing indexes hold what the rows say, and nothing else.
func requireListed(ctx context.Context, t *testing.T, rdb redis.UniversalClient, prefix string) {
	t.Helper()
	k := keyspace{prefix: prefix}
	want, got := map[string]bool{}, map[string]bool{}
	talks := map[string][]string{} // conversations by key: tails of their executions
	for _, key := range allKeys(ctx, t, rdb, prefix) {
		_, rest, _ := strings.Cut(key, "}:")
		kind, name, _ := strings.Cut(rest, ":")
		switch {
		case kind == "x" && !strings.Contains(name, ":"):
			row := rdb.HMGet(ctx, key, "tenant", "subject", "state", "createdAtMs", "conversation").Val()
			id, state := execution.ID(name), execution.State(row[2].(string))
			caller := execution.CallerScope{Tenant: row[0].(string), Subject: row[1].(string)}
			entry := fmt.Sprintf(" %s %s", name[tailAt:], row[3])
			states := []execution.State{"", state}
			if state == execution.Completed {
				states = states[:1]
			}
			for _, state := range states {
				want[k.tenant(id.Partition(), caller.Tenant, state)+entry] = true
				want[k.caller(id.Partition(), caller, state)+entry] = true
				want[k.tenant(id.Partition(), execution.AllTenants, state)+entry] = true
			}
			talk := k.conversation(talk{caller.Tenant, journal.NamedConversation(row[4].(string))})
			talks[talk] = append(talks[talk], entry)
		case kind == "tenant" || kind == "caller" || kind == "named" || kind == "conv" && strings.HasSuffix(name, ":executions"):
			for _, z := range rdb.ZRangeWithScores(ctx, key, 0, -1).Val() {
				got[fmt.Sprintf("%s %s %.0f", key, z.Member, z.Score)] = true
			}
		}
	}
	for talk, entries := range talks {
		if at, name, _ := strings.Cut(talk, "conv:"); strings.Contains(name, "/") {
			want[at+"named "+name+" 0"] = true
		}
		if only := rdb.HGet(ctx, talk, "only").Val(); only != "" {
			require.Len(t, entries, 1, "the only execution of %s", talk)
			require.Contains(t, entries[0], only)
			continue
		}
		for _, entry := range entries {
			want[talk+":executions"+entry] = true
		}
	}
	require.Equal(t, sorted(want), sorted(got), "the listing indexes")
}

func sorted(set map[string]bool) []string {
	list := []string{}
	for entry := range set {
		list = append(list, entry)
	}
	slices.Sort(list)
	return list
}
