package executor

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
)

// A lane is where the model requests of one provider key leave a process. Providers bound how fast a load may grow, and a
// key that was told to wait is told so for all executions that use it. So requests begin slowly after a lane was idle or
// refused, a second later at twice the rate, and a refusal parks everybody in it.
const (
	laneIdle    = time.Minute // without a request: it begins slowly again
	laneRate    = 16.0        // requests a second at the beginning
	laneRefused = 4.0         // the same after a refusal
	laneBurst   = 8.0         // requests that may go at once at the beginning; none after a refusal
	laneOpen    = 1024.0      // a second: no bound from here on
	maxLanes    = 4096
	// lanePatience is how long a request waits in its lane while it holds a worker.
	lanePatience = 2 * time.Second
	// laneJitter spreads those that waited for the same moment.
	laneJitter = time.Second
)

// laneOf names the lane of a model; "" for one that has none.
func laneOf(model agent.Model) string {
	if model.Provider == "scripted" {
		return ""
	}
	return model.Provider + "\n" + model.BaseURL + "\n" + model.APIKey
}

// lanes are those of one process.
type lanes struct {
	jitter func(time.Duration) time.Duration

	mu     sync.Mutex
	byName map[string]*lane // guarded by mu
}

// lane is a bucket whose rate grows.
type lane struct {
	parked time.Time // nothing is sent before
	began  time.Time // when the rate began to grow
	rate   float64   // then, requests a second
	burst  float64   // requests that may go at once
	next   time.Time // when a request would be in time if there were no burst
	last   time.Time // of the last request
}

func newLanes(jitter func(time.Duration) time.Duration) *lanes {
	return &lanes{jitter: jitter, byName: map[string]*lane{}}
}

// admit takes the next place in the lane and waits for it, or says how long the wait is to be when it is longer than the
// patience.
func (l *lanes) admit(ctx context.Context, name string, patience time.Duration) (time.Duration, error) {
	if name == "" {
		return 0, nil
	}
	wait, taken := l.take(name, time.Now(), patience)
	if !taken {
		return wait, nil
	}
	if wait <= 0 {
		return 0, nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return 0, nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// take is how long the next request has to wait. Its place is taken when that is within the patience.
func (l *lanes) take(name string, now time.Time, patience time.Duration) (wait time.Duration, taken bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.lane(name, now)
	if parked := at.parked.Sub(now); parked > patience {
		return parked + l.jitter(laneJitter), false
	}
	start := now
	if at.parked.After(now) {
		start = at.parked
	}
	next := at.next
	if next.Before(start) {
		next = start
	}
	rate := at.rateAt(next)
	if rate >= laneOpen {
		at.next, at.last = time.Time{}, start
		return start.Sub(now), true
	}
	gap := time.Duration(float64(time.Second) / rate)
	if earliest := next.Add(-time.Duration(at.burst * float64(gap))); earliest.After(start) {
		start = earliest
	}
	if wait = start.Sub(now); wait > patience {
		return wait + l.jitter(laneJitter), false
	}
	at.next, at.last = next.Add(gap), start
	return wait, true
}

// lane finds a lane, or opens it, as one that was idle does.
func (l *lanes) lane(name string, now time.Time) *lane {
	at := l.byName[name]
	if at == nil {
		if len(l.byName) >= maxLanes { // beginning anew costs a few slow starts
			l.byName = map[string]*lane{}
		}
		at = &lane{began: now, rate: laneRate, burst: laneBurst}
		l.byName[name] = at
	}
	if now.Sub(at.last) > laneIdle && now.Sub(at.began) > laneIdle && now.After(at.parked) {
		at.began, at.rate, at.burst, at.next = now, laneRate, laneBurst, time.Time{}
	}
	return at
}

func (at *lane) rateAt(now time.Time) float64 {
	grown := at.rate * math.Pow(2, max(0, now.Sub(at.began).Seconds()))
	return min(grown, laneOpen)
}

// refused parks the lane when its provider wants to be left alone, and lets it begin slowly again.
func (l *lanes) refused(name string, err error) {
	var classified *local.Error
	if name == "" || !errors.As(err, &classified) {
		return
	}
	if classified.Code != "rate_limited" && classified.RetryAfter <= 0 {
		return
	}
	now := time.Now()
	until := now.Add(max(0, classified.RetryAfter) + l.jitter(laneJitter))
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.lane(name, now)
	if until.After(at.parked) {
		at.parked = until
	}
	at.began, at.rate, at.burst, at.next = at.parked, laneRefused, 0, at.parked
}
