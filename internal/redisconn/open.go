package redisconn

import (
	"crypto/tls"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Config says what to connect to. Only URL is required.
type Config struct {
	URL string
	// Concurrency is how many steps the program runs at once; the pool holds at least 10 connections more. Default 0.
	Concurrency int
	// ClientName is shown by CLIENT LIST. Default: none.
	ClientName string
}

const (
	dialTimeout = 3 * time.Second
	readTimeout = 3 * time.Second
	spare       = 10 // connections besides those of the steps: renewals, wake-ups, pub/sub, the sweep
	minPool     = 20
	// layoutAge is how old what a client knows of a Cluster may get. Nobody tells it that a dead or hung master was replaced: until
	// it asks again it goes on calling that one.
	layoutAge = 2 * time.Second
)

// Open makes the client that the URL asks for. It dials nothing yet; close the client.
//
// The client obeys the deadline of a call's context, and repeats a call whose reply was lost: whoever uses it must be
// safe to repeat.
func Open(cfg Config) (redis.UniversalClient, error) {
	target, err := Parse(cfg.URL)
	if err != nil {
		return nil, err
	}
	options := target.options(cfg)
	switch target.Mode {
	case Sentinel:
		return redis.NewFailoverClient(options.Failover()), nil
	case Cluster:
		cluster := options.Cluster()
		cluster.ClusterStateReloadInterval = layoutAge
		return redis.NewClusterClient(cluster), nil
	case Standalone:
		return redis.NewClient(options.Simple()), nil
	default:
		return nil, fmt.Errorf("redis URL: unknown mode %q", target.Mode)
	}
}

func (t *Target) options(cfg Config) *redis.UniversalOptions {
	options := &redis.UniversalOptions{
		Addrs: t.Addrs, MasterName: t.Master, ClientName: cfg.ClientName,
		Username: t.Username, Password: t.Password, DB: t.DB,
		SentinelUsername: t.SentinelUsername, SentinelPassword: t.SentinelPassword,
		DialTimeout: orElse(t.DialTimeout, dialTimeout), ReadTimeout: orElse(t.ReadTimeout, readTimeout),
		WriteTimeout: orElse(t.WriteTimeout, readTimeout), ContextTimeoutEnabled: true,
		MinRetryBackoff: 10 * time.Millisecond, MaxRetryBackoff: 500 * time.Millisecond,
		PoolSize: max(t.PoolSize, cfg.Concurrency+spare, minPool),
	}
	if t.TLS {
		// The operator asks for an unverified peer by name, in the URL.
		options.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: t.SkipVerify} //nolint:gosec // see above
	}
	return options
}

func orElse(given, def time.Duration) time.Duration {
	if given > 0 {
		return given
	}
	return def
}
