package app

import (
	"context"
	"maps"
	"slices"

	"github.com/pawl-run/pawl/auth"
	"github.com/pawl-run/pawl/dashboard"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/version"
	"github.com/pawl-run/pawl/link"
)

// newPages are the pages at /dashboard.
func newPages(b *base, service *link.Service, gate *auth.Gate, deps Deps) (*dashboard.Pages, error) {
	return dashboard.NewPages(dashboard.PagesConfig{
		Link: service, Facts: pageFacts{b}, Gate: gate, Monitoring: true,
		Version: version.Read().Version, Logger: deps.Logger,
	})
}

// pageFacts asks the journal and the queues for what the pages show.
type pageFacts struct{ base *base }

// Counts implements dashboard.Facts.
func (f pageFacts) Counts(ctx context.Context, tenant string) (map[execution.State]dashboard.Count, error) {
	found, err := f.base.store.Count(ctx, tenant)
	if err != nil {
		return nil, err
	}
	counts := make(map[execution.State]dashboard.Count, len(found))
	for state, count := range found {
		shown := dashboard.Count{Executions: count.Executions}
		if count.Oldest != nil {
			shown.Oldest, shown.SinceMs = count.Oldest.ID, count.Oldest.CreatedAtMs
		}
		counts[state] = shown
	}
	return counts, nil
}

// Queues implements dashboard.Facts: of all queues that were ever used, also by other processes, which are those that nobody may serve.
func (f pageFacts) Queues(ctx context.Context) ([]dashboard.Queue, error) {
	names, err := f.base.tasks.Used(ctx)
	if err != nil {
		return nil, err
	}
	depths, err := f.base.tasks.DepthOf(ctx, names)
	if err != nil {
		return nil, err
	}
	latencies, err := f.base.tasks.LatencyOf(ctx, names)
	if err != nil {
		return nil, err
	}
	queues := make([]dashboard.Queue, 0, len(depths))
	for _, name := range slices.Sorted(maps.Keys(depths)) {
		depth := depths[name]
		queues = append(queues, dashboard.Queue{
			Name: name, Pending: depth.Pending, Active: depth.Active, Scheduled: depth.Scheduled, Retry: depth.Retry,
			Archive: depth.Archived, Latency: latencies[name],
		})
	}
	return queues, nil
}

// Workers implements dashboard.Facts.
func (f pageFacts) Workers(ctx context.Context) ([]dashboard.Worker, error) {
	found, err := f.base.tasks.Workers(ctx)
	if err != nil {
		return nil, err
	}
	workers := make([]dashboard.Worker, 0, len(found))
	for _, w := range found {
		workers = append(workers, dashboard.Worker{
			ID: w.ID, Host: w.Host, PID: w.PID, StartedAtMs: w.StartedAtMs, Queues: w.Queues, Concurrency: w.Concurrency, Held: w.Held,
			Holding: w.Holding, Draining: w.Draining, Work: (*dashboard.Work)(w.Work),
		})
	}
	return workers, nil
}
