package redistest

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	clusterMasters = 3
	clusterSlots   = 16384
	formTimeout    = time.Minute
	formInterval   = 20 * time.Millisecond
)

// Cluster is a Redis Cluster of three masters without replicas.
type Cluster struct {
	Masters []*Server
	args    []string
}

// StartCluster forms a Cluster of private servers with the given extra arguments. It ends with the test.
func StartCluster(tb testing.TB, args ...string) *Cluster {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), formTimeout)
	defer cancel()
	cluster := &Cluster{args: slices.Concat([]string{"--cluster-enabled", "yes", "--cluster-node-timeout", "5000"}, args)}
	for range clusterMasters {
		cluster.Masters = append(cluster.Masters, Start(tb, cluster.args...))
	}
	for i, master := range cluster.Masters {
		if err := join(ctx, master.Client(tb), cluster.Masters[0].Addr(), i); err != nil {
			tb.Fatalf("redistest: form a cluster: %v", err)
		}
	}
	for _, master := range cluster.Masters {
		if err := until(ctx, func() error { return joined(ctx, master.Client(tb)) }); err != nil {
			tb.Fatalf("redistest: the cluster is not whole: %s: %v", master.Addr(), err)
		}
	}
	return cluster
}

// AddReplica starts a replica of the i-th master, which takes its place when that dies, and waits until all know it.
func (c *Cluster) AddReplica(tb testing.TB, i int, args ...string) *Server {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), formTimeout)
	defer cancel()
	replica := Start(tb, slices.Concat(c.args, args)...)
	node, master := replica.Client(tb), c.Masters[i].Client(tb)
	host, port, err := net.SplitHostPort(c.Masters[i].Addr())
	if err == nil {
		err = node.ClusterMeet(ctx, host, port).Err()
	}
	if err != nil {
		tb.Fatalf("redistest: add a replica: %v", err)
	}
	id, err := master.ClusterMyID(ctx).Result()
	if err != nil {
		tb.Fatalf("redistest: add a replica: %v", err)
	}
	if err := until(ctx, func() error { return node.ClusterReplicate(ctx, id).Err() }); err != nil { // it must know the master first
		tb.Fatalf("redistest: add a replica: %v", err)
	}
	for _, other := range c.Masters {
		client := other.Client(tb)
		if err := until(ctx, func() error { return replicated(ctx, node, client, id) }); err != nil {
			tb.Fatalf("redistest: the replica is not whole: %v", err)
		}
	}
	return replica
}

// replicated reports why the node is not yet a replica that a member of the cluster knows.
func replicated(ctx context.Context, node, member *redis.Client, master string) error {
	info, err := node.Info(ctx, "replication").Result()
	if err != nil {
		return err
	}
	replicas, err := member.Do(ctx, "cluster", "replicas", master).StringSlice()
	if err != nil {
		return err
	}
	if !strings.Contains(info, "master_link_status:up") || len(replicas) == 0 {
		return fmt.Errorf("%v is known, in %q", replicas, info)
	}
	return nil
}

// Addrs are host:port of the masters.
func (c *Cluster) Addrs() []string {
	addrs := make([]string, 0, len(c.Masters))
	for _, master := range c.Masters {
		addrs = append(addrs, master.Addr())
	}
	return addrs
}

// URL is the cluster's redis+cluster:// URL.
func (c *Cluster) URL() string { return "redis+cluster://" + strings.Join(c.Addrs(), ",") }

// Client is a client of the cluster, closed with the test.
func (c *Cluster) Client(tb testing.TB) *redis.ClusterClient {
	tb.Helper()
	client := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: c.Addrs(), ClusterStateReloadInterval: time.Second, // a master may be replaced
	})
	tb.Cleanup(func() { _ = client.Close() }) // the test is over: nobody waits for the error
	return client
}

// join gives the i-th master its slots and makes it known to the first.
func join(ctx context.Context, node *redis.Client, first string, i int) error {
	if err := node.ClusterAddSlotsRange(ctx, i*clusterSlots/clusterMasters, (i+1)*clusterSlots/clusterMasters-1).Err(); err != nil {
		return fmt.Errorf("give slots: %w", err)
	}
	if err := node.Do(ctx, "cluster", "set-config-epoch", i+1).Err(); err != nil {
		return fmt.Errorf("set the epoch: %w", err)
	}
	host, port, err := net.SplitHostPort(first)
	if err != nil {
		return err
	}
	return node.ClusterMeet(ctx, host, port).Err()
}

// joined reports why a node is not a whole part of the cluster yet. A cluster whose state is ok may still lack connections
// between two of its nodes, and what is published in one does not reach the other.
func joined(ctx context.Context, node *redis.Client) error {
	info, err := node.ClusterInfo(ctx).Result()
	if err != nil {
		return err
	}
	for _, line := range []string{
		"cluster_state:ok", fmt.Sprintf("cluster_known_nodes:%d", clusterMasters), fmt.Sprintf("cluster_size:%d", clusterMasters),
	} {
		if !strings.Contains(info, line+"\r\n") {
			return fmt.Errorf("no %s in %q", line, info)
		}
	}
	nodes, err := node.ClusterNodes(ctx).Result()
	if err != nil {
		return err
	}
	links, err := node.ClusterLinks(ctx).Result()
	if err != nil {
		return err
	}
	if strings.Contains(nodes, "handshake") || len(links) < 2*(clusterMasters-1) {
		return fmt.Errorf("links are missing: %v in %q", links, nodes)
	}
	return nil
}

// until asks until there is no error, or ctx ends: then it is the last one.
func until(ctx context.Context, ask func() error) error {
	tick := time.NewTicker(formInterval)
	defer tick.Stop()
	var last error
	for {
		err := ask()
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return last
		case <-tick.C:
		}
	}
}
