package bench

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"
)

// kind is what a load runs.
type kind string

const (
	plainChain kind = "plain" // Asynq's own client and server, one queue
	rawChain   kind = "raw"   // Asynq behind Pawl's queue client and server, one queue
	sixChain   kind = "raw6"  // the same with the six queues that a worker serves
	pawl       kind = "pawl"  // executions
)

// Spec is a load. Worker processes get theirs as JSON.
type Spec struct {
	Kind         kind          `json:"kind"`
	URL          string        `json:"url"`
	Concurrency  int           `json:"concurrency"`
	Chains       int           `json:"chains"` // to keep under way; 0: only what comes from elsewhere
	NodesPerTask int           `json:"nodesPerTask"`
	Agent        string        `json:"agent"`
	Turns        int           `json:"turns"`
	ResultBytes  int           `json:"resultBytes"`
	ToolDelay    time.Duration `json:"toolDelay"`
	Detailed     bool          `json:"detailed"` // count by label
	Handoffs     bool          `json:"handoffs"`
	Feed         bool          `json:"feed"`  // another execution follows each that ends, also without Chains
	Spans        bool          `json:"spans"` // time executions from start to end
	Path         bool          `json:"path"`  // note what each turn sends and takes; for one execution at a time
}

// start begins the load in this process.
func (s Spec) start(ctx context.Context) (load, error) {
	switch s.Kind {
	case plainChain:
		return startPlain(ctx, s)
	case rawChain, sixChain:
		return startRaw(ctx, s)
	case pawl:
		return startPawl(ctx, s)
	default:
		return nil, fmt.Errorf("bench: unknown kind of load %q", s.Kind)
	}
}

// name is what the load is called in tables.
func (s Spec) name() string {
	if s.Kind == pawl {
		return fmt.Sprintf("pawl, %s per task", plural(s.NodesPerTask, "node"))
	}
	switch s.Kind {
	case plainChain:
		return "plain Asynq chain"
	case sixChain:
		return "raw Asynq chain, six queues"
	default:
		return "raw Asynq chain"
	}
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// quiet drops what the product logs: stopping in the middle of work makes it speak.
func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }
