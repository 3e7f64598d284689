package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

const clusterSlots = 16384

// clusterSweep is throughput on Redis Cluster with one and with three primaries.
func clusterSweep(ctx context.Context, env *Env) (Result, error) {
	r := Result{Title: "Primaries of a Redis Cluster"}
	built := env.nodesBuilt(&r)
	for _, n := range []int{1, 3} {
		at, err := newCluster(ctx, n)
		if err != nil {
			return r, err
		}
		name := "1 primary"
		if n > 1 {
			name = fmt.Sprintf("%d primaries", n)
		}
		err = env.addRatios(ctx, &r, name, at, built)
		at.close()
		if err != nil {
			return r, err
		}
	}
	r.Notes = append(r.Notes, "All nodes are on this machine, so more of them show what spreading costs, not what it gains.")
	return r, nil
}

// newCluster starts n servers that share the slots.
func newCluster(ctx context.Context, n int) (_ *site, err error) {
	at := &site{}
	defer func() {
		if err != nil {
			at.close()
		}
	}()
	for range n {
		server, err := startServer(ctx, "--cluster-enabled", "yes", "--appendonly", "yes", "--cluster-node-timeout", "5000")
		if err != nil {
			return nil, err
		}
		at.servers = append(at.servers, server)
		at.nodes = append(at.nodes, redis.NewClient(&redis.Options{Addr: server.addr}))
	}
	for i, node := range at.nodes {
		if err := node.ClusterAddSlotsRange(ctx, i*clusterSlots/n, (i+1)*clusterSlots/n-1).Err(); err != nil {
			return nil, fmt.Errorf("bench: give slots: %w", err)
		}
		host, port := at.servers[0].host()
		if err := node.ClusterMeet(ctx, host, port).Err(); i > 0 && err != nil {
			return nil, fmt.Errorf("bench: join the cluster: %w", err)
		}
	}
	at.url = "redis+cluster://" + at.servers[0].addr
	return at, at.awaitCluster(ctx)
}

// awaitCluster waits until every node knows all of them and takes commands.
func (s *site) awaitCluster(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return poll(ctx, 50*time.Millisecond, func() (bool, error) {
		for _, node := range s.nodes {
			text, err := node.ClusterInfo(ctx).Result()
			if err != nil {
				return false, fmt.Errorf("bench: ask the cluster: %w", err)
			}
			facts := parseInfo(text)
			if facts["cluster_state"] != "ok" || int(facts.number("cluster_known_nodes")) != len(s.nodes) {
				return false, nil
			}
		}
		return true, nil
	})
}
