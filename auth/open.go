package auth

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/execution"
)

// Open makes a Gate without keys: everybody is the local operator, and only requests that a program on this machine, a page
// of this server or a page of the origins has sent are let in. Stream tokens are kept in Redis; in this process alone when
// rdb is nil.
func Open(rdb redis.UniversalClient, origins ...string) *Gate {
	tokens := InMemory()
	if rdb != nil {
		tokens = &StreamTokens{vault: redisVault{rdb: rdb, prefix: defaultPrefix}}
	}
	admit := func(r *http.Request) error { return local(r, origins) }
	return &Gate{
		Streams: tokens, failures: newTries(maxFailures), admit: admit,
		enter: func(r *http.Request) (*Visit, error) { return Local(), admit(r) },
	}
}

// By makes a Gate of another way to name callers: what an app that mounts the API has of its own. Its errors are
// *execution.APIError. Stream tokens are kept in this process alone.
func By(authenticate func(*http.Request) (execution.Authority, error)) *Gate {
	return &Gate{
		Streams: InMemory(), failures: newTries(maxFailures), admit: func(*http.Request) error { return nil },
		enter: func(r *http.Request) (*Visit, error) {
			authority, err := authenticate(r)
			if err != nil {
				return nil, err
			}
			return &Visit{Authority: authority}, nil
		},
	}
}

// errNoKeys: what needs keys was asked of a gate that has none.
var errNoKeys = errors.New("this installation has no keys")

// local admits requests that a program on this machine, a page that this server served, or one of the origins has sent. A
// name other than a loopback one is how a page on the internet reaches a local server (DNS rebinding).
func local(r *http.Request, origins []string) error {
	if !loopback(r.Host) {
		return execution.NewAPIError(execution.Forbidden,
			"without API keys only loopback names are served, like 127.0.0.1 or localhost").In("Host")
	}
	for _, origin := range r.Header.Values("Origin") {
		if slices.Contains(origins, origin) {
			continue
		}
		u, err := url.Parse(origin)
		if err != nil || !strings.EqualFold(u.Host, r.Host) {
			return execution.NewAPIError(execution.Forbidden,
				"without API keys requests from pages of another origin are refused").In("Origin")
		}
	}
	return nil
}

func loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}
