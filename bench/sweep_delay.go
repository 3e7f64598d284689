package bench

import (
	"context"
	"net/url"
	"time"
)

// delaySweep is throughput and hand-off with 1 ms more on every round trip.
func delaySweep(ctx context.Context, env *Env) (Result, error) {
	r := Result{Title: "1 ms of added network delay"}
	target, err := url.Parse(env.main.url)
	if err != nil || target.Scheme != "redis" || target.User != nil {
		return r, errOwn
	}
	proxy, err := startProxy(ctx, target.Host, time.Millisecond)
	if err != nil {
		return r, err
	}
	defer proxy.close()
	far := *env.main
	far.proxy = proxy
	added, err := env.pingBoth(ctx, &far)
	if err != nil {
		return r, err
	}
	r.add("a PING takes longer by", "ms", added)
	if err := env.addRatios(ctx, &r, "1 ms", &far, env.nodesBuilt(&r)); err != nil {
		return r, err
	}
	defer env.briefly()()
	for range env.cfg.Pairs {
		for _, k := range []kind{rawChain, pawl} {
			spec := env.spec(k, &far)
			spec.Chains, spec.Handoffs = 1, true
			samples, err := env.handoffs(ctx, &far, spec)
			if err != nil {
				return r, err
			}
			r.add("1 ms: "+spec.name()+" alone: hand-off p50", "ms", median(samples))
		}
	}
	return r, nil
}

// pingBoth measures what the proxy really adds.
func (e *Env) pingBoth(ctx context.Context, far *site) (float64, error) {
	var medians []float64
	for _, at := range []*site{e.main, far} {
		rdb, _, err := open(e.spec(pawl, at))
		if err != nil {
			return 0, err
		}
		var samples []float64
		for range 200 {
			began := time.Now()
			if err = rdb.Ping(ctx).Err(); err != nil {
				break
			}
			samples = append(samples, millis(time.Since(began)))
		}
		_ = rdb.Close() // only asked for pongs
		if err != nil {
			return 0, err
		}
		medians = append(medians, median(samples))
	}
	return medians[1] - medians[0], nil
}
