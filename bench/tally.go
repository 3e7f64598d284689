package bench

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// tally counts what a load has done.
type tally struct {
	steps, turns, started, ended, failures atomic.Int64
}

// Snap is a reading of one load's counters. All of them only grow.
type Snap struct {
	Steps       int64            `json:"steps"` // commits, or tasks of a chain
	Turns       int64            `json:"turns"` // batches of tool calls that commits have planned
	Ended       int64            `json:"ended"` // executions
	Failures    int64            `json:"failures"`
	CPU         time.Duration    `json:"cpu"` // user and system time of the process
	Mallocs     uint64           `json:"mallocs"`
	AllocBytes  uint64           `json:"allocBytes"`
	Trips       int64            `json:"trips"`
	Commands    int64            `json:"commands"`
	EmptyRounds int64            `json:"emptyRounds"`
	Busy        float64          `json:"busy"` // slots at work, times seconds; 0 where nobody looks
	Labels      map[string]Count `json:"labels,omitempty"`
}

// load is something at work, here or in another process.
type load interface {
	// Snap reads the counters.
	Snap(ctx context.Context) (Snap, error)
	// Close stops the work. What is unfinished stays in Redis.
	Close(ctx context.Context) error
}

// readSnap reads the counters of a load in this process.
func readSnap(t *tally, m *meter) Snap {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return Snap{
		Steps: t.steps.Load(), Turns: t.turns.Load(), Ended: t.ended.Load(), Failures: t.failures.Load(),
		CPU: processCPU(), Mallocs: memory.Mallocs, AllocBytes: memory.TotalAlloc,
		Trips: m.trips.Load(), Commands: m.commands.Load(), Labels: m.byLabel(),
	}
}

// minus is the growth since an earlier reading.
func (s Snap) minus(earlier Snap) Snap {
	out := Snap{
		Steps: s.Steps - earlier.Steps, Turns: s.Turns - earlier.Turns, Ended: s.Ended - earlier.Ended,
		Failures: s.Failures - earlier.Failures, CPU: s.CPU - earlier.CPU, Mallocs: s.Mallocs - earlier.Mallocs,
		AllocBytes: s.AllocBytes - earlier.AllocBytes, Trips: s.Trips - earlier.Trips,
		Commands: s.Commands - earlier.Commands, EmptyRounds: s.EmptyRounds - earlier.EmptyRounds,
		Busy:   s.Busy - earlier.Busy,
		Labels: map[string]Count{},
	}
	for name, c := range s.Labels {
		e := earlier.Labels[name]
		out.Labels[name] = Count{c.Trips - e.Trips, c.Commands - e.Commands, c.Bytes - e.Bytes, c.Nanos - e.Nanos}
	}
	return out
}

// plus joins the readings of two processes.
func (s Snap) plus(o Snap) Snap {
	out := Snap{
		Steps: s.Steps + o.Steps, Turns: s.Turns + o.Turns, Ended: s.Ended + o.Ended, Failures: s.Failures + o.Failures,
		CPU: s.CPU + o.CPU, Mallocs: s.Mallocs + o.Mallocs, AllocBytes: s.AllocBytes + o.AllocBytes,
		Trips: s.Trips + o.Trips, Commands: s.Commands + o.Commands, EmptyRounds: s.EmptyRounds + o.EmptyRounds,
		Busy:   s.Busy + o.Busy,
		Labels: map[string]Count{},
	}
	for _, from := range []map[string]Count{s.Labels, o.Labels} {
		for name, c := range from {
			have := out.Labels[name]
			out.Labels[name] = Count{
				have.Trips + c.Trips, have.Commands + c.Commands, have.Bytes + c.Bytes, have.Nanos + c.Nanos,
			}
		}
	}
	return out
}

// handoffs measures from the beginning of an enqueue to the runner's first line.
type handoffs struct {
	sent sync.Map // task id → time.Time

	mu      sync.Mutex
	samples []float64 // milliseconds; guarded by mu
}

func (h *handoffs) enqueued(id string) { h.sent.Store(id, time.Now()) }

func (h *handoffs) begun(id string) {
	at, ok := h.sent.LoadAndDelete(id)
	if !ok {
		return
	}
	took := time.Since(at.(time.Time)) //nolint:forcetypeassert // only enqueued stores
	h.mu.Lock()
	defer h.mu.Unlock()
	h.samples = append(h.samples, millis(took))
}

// take returns the samples so far and begins anew.
func (h *handoffs) take() []float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	samples := h.samples
	h.samples = nil
	return samples
}
