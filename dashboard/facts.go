package dashboard

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/execution"
)

// Facts is what the pages show of the installation beside executions. No call's cost grows with the number of executions.
type Facts interface {
	// Counts counts the executions of the tenant, or of execution.AllTenants, by state.
	Counts(ctx context.Context, tenant string) (map[execution.State]Count, error)
	// Queues lists the queues by name.
	Queues(ctx context.Context) ([]Queue, error)
	// Workers lists the live workers by id.
	Workers(ctx context.Context) ([]Worker, error)
}

// Count is the executions of a state. Oldest is the oldest one of an open state, and when it was created; empty: there is none.
type Count struct {
	Executions int64
	Oldest     execution.ID
	SinceMs    int64
}

// Queue is how full a queue is. Latency is how long the oldest task that may run has waited.
type Queue struct {
	Name                                       string
	Pending, Active, Scheduled, Retry, Archive int64
	Latency                                    time.Duration
}

// Worker is a live worker. Holding is some of what it holds; Held is how many.
type Worker struct {
	ID          string
	Host        string // the machine that it runs on, and its process there; empty when it does not say
	PID         int
	StartedAtMs int64
	Queues      []string
	Concurrency int
	Held        int
	Holding     []execution.ID
	Draining    bool
	Work        *Work // nil: it does not say
}

// Work is what a worker has done: in the last SpanMs how many steps it took to their boundaries, how many executions it
// started and ended, and how long tasks waited before it took them; since its start, how many claims of others it took over
// when they had run out, and how many of its own were superseded. Waits counts by the most milliseconds that a wait took.
type Work struct {
	SpanMs, Steps, Started, Ended, Reclaims, Fenced int64
	Waits                                           map[int64]int64
}
