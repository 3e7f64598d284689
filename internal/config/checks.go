package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"time"
)

var queueName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// suspectQueue is the queue of steps that were reclaimed before.
const suspectQueue = "suspect"

func (j *Journal) check() error {
	return errors.Join(
		atLeast("PAWL_HANDOFF_GRACE", j.HandoffGrace, time.Millisecond),
		atLeast("PAWL_RETENTION", j.Retention, time.Second),
		atLeast("PAWL_CLEANUP_TIMEOUT", j.CleanupTimeout, time.Millisecond),
		between("PAWL_MAX_EVENTS", int64(j.MaxEvents), 16, 10_000_000),
	)
}

func (h *HTTP) check() error {
	return errors.Join(
		address("PAWL_HTTP_ADDR", h.Addr),
		between("PAWL_MAX_OPEN", h.MaxOpen, 0, 1<<53),
		between("PAWL_MAX_STREAMS", int64(h.MaxStreams), 0, 1_000_000),
		between("PAWL_MAX_BODY", int64(h.MaxBody), 1<<10, 1<<30),
	)
}

func (a *Admin) check() error {
	if a.AdminAddr == "" {
		return nil
	}
	return address("PAWL_ADMIN_ADDR", a.AdminAddr)
}

func (w *Work) check() error {
	problems := []error{
		between("PAWL_CONCURRENCY", int64(w.Concurrency), 1, 10_000),
		atLeast("PAWL_CLAIM_TTL", w.ClaimTTL, time.Second),
		atLeast("PAWL_DRAIN_TIMEOUT", w.DrainTimeout, time.Millisecond),
		between("PAWL_MAX_RECLAIMS", int64(w.MaxReclaims), 1, 1000),
		between("PAWL_NODES_PER_TASK", int64(w.NodesPerTask), 1, 64),
		between("PAWL_MAX_DEPTH", int64(w.MaxDepth), 0, 64),
	}
	for _, queue := range w.Queues {
		if !queueName.MatchString(queue) {
			problems = append(problems, fmt.Errorf("PAWL_WORKER_QUEUES: %q is no queue name (A-Z a-z 0-9 . _ -, by comma)", queue))
		}
	}
	if len(w.Queues) == 1 && w.Queues[0] == suspectQueue {
		problems = append(problems, errors.New("PAWL_WORKER_QUEUES: suspect is served beside another queue: name one more"))
	}
	return errors.Join(problems...)
}

func (r *Reap) check() error {
	return errors.Join(
		atLeast("PAWL_REAP_INTERVAL", r.ReapInterval, 10*time.Millisecond),
		atMost("PAWL_REAP_INTERVAL", r.ReapInterval, time.Minute),
	)
}

func (c *Client) check() error {
	parsed, err := url.Parse(c.URL)
	if err != nil || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Host == "" {
		return errors.New("PAWL_URL: want an address such as http://127.0.0.1:8080")
	}
	return nil
}

func atLeast(name string, value, least time.Duration) error {
	if value < least {
		return fmt.Errorf("%s: want at least %v, have %v", name, least, value)
	}
	return nil
}

func atMost(name string, value, most time.Duration) error {
	if value > most {
		return fmt.Errorf("%s: want at most %v, have %v", name, most, value)
	}
	return nil
}

func between(name string, value, least, most int64) error {
	if value < least || value > most {
		return fmt.Errorf("%s: want a whole number from %d to %d, have %d", name, least, most, value)
	}
	return nil
}

func address(name, value string) error {
	if _, _, err := net.SplitHostPort(value); err != nil {
		return fmt.Errorf("%s: want host:port, such as 127.0.0.1:8080, have %q", name, value)
	}
	return nil
}
