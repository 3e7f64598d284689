package telemetry

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/queue"
)

// Executions counts the executions of the installation. journal.Inspector satisfies it.
type Executions interface {
	Count(ctx context.Context, tenant string) (journal.Counts, error)
	CountOutside(ctx context.Context) (int64, error)
}

// Queues knows the queues and who serves them. *queue.Client satisfies it.
type Queues interface {
	Depth(ctx context.Context) (map[string]queue.Depth, error)
	Latency(ctx context.Context) (map[string]time.Duration, error)
	Workers(ctx context.Context) ([]queue.Worker, error)
}

// Memory is how full Redis is, in bytes. Max is 0 where Redis has no bound.
type Memory struct{ Used, Max int64 }

// Installation is what a scrape asks about the whole installation.
type Installation struct {
	Executions Executions
	Queues     Queues
	Memory     func(ctx context.Context) (Memory, error)
	// Kinds estimates what the keys of each kind weigh, in bytes.
	Kinds  func(ctx context.Context) (map[string]float64, error)
	Logger *slog.Logger
}

// installation reads Redis at each scrape: a bounded number of round trips, whatever is stored. What Redis does not say is
// left out, and pawl_scrape_errors_total counts it.
type installation struct {
	cfg                  Installation
	executions, oldest   *prometheus.Desc
	remote               *prometheus.Desc
	tasks, latency       *prometheus.Desc
	workers, slots, held *prometheus.Desc
	memory, memoryMax    *prometheus.Desc
	kinds                *prometheus.Desc
	failed               prometheus.Counter
}

// Installation registers what is true of the installation. Every program that does so says the same: take the maximum.
func (m *Metrics) Installation(cfg Installation) {
	m.whole.Do(func() { m.installation(cfg) })
}

func (m *Metrics) installation(cfg Installation) {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	m.registry.MustRegister(&installation{
		cfg:        cfg,
		executions: desc("pawl_executions", "Stored executions by state; those that have ended until their retention is over.", "state"),
		oldest:     desc("pawl_oldest_execution_seconds", "Age of the oldest open execution of each state, from its creation.", "state"),
		remote:     desc("pawl_remote_runs", "Runs that are open at remote agents, those not yet called off after their executions' end too."),
		tasks:      desc("pawl_queue_tasks", "Tasks in each queue by their state.", "queue", "state"),
		latency:    desc("pawl_queue_latency_seconds", "How long the oldest task of each queue that may run has waited.", "queue"),
		workers:    desc("pawl_workers", "Live workers that serve each queue.", "queue"),
		slots:      desc("pawl_workers_slots", "Tasks that all live workers together can run at once."),
		held:       desc("pawl_claims_held", "Executions that live workers hold."),
		memory:     desc("pawl_redis_memory_bytes", "Memory that Redis uses; of a cluster, of all primaries."),
		memoryMax:  desc("pawl_redis_memory_max_bytes", "Memory that Redis may use; 0: it has no bound."),
		kinds:      desc("pawl_redis_key_bytes", "What the keys of each kind weigh, estimated from keys drawn at random.", "kind"),
		failed:     m.counter("pawl_scrape_errors_total", "What a scrape asked Redis and was not told.").WithLabelValues(),
	})
}

// Describe implements prometheus.Collector.
func (i *installation) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		i.executions, i.oldest, i.remote, i.tasks, i.latency, i.workers, i.slots, i.held, i.memory, i.memoryMax, i.kinds,
	} {
		out <- desc
	}
}

// Collect implements prometheus.Collector.
func (i *installation) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), redisTimeout)
	defer cancel()
	for what, read := range map[string]func(context.Context, chan<- prometheus.Metric) error{
		"executions": i.countExecutions, "remote runs": i.countRemote, "queues": i.measureQueues, "workers": i.countWorkers,
		"memory": i.readMemory, "kinds": i.weighKinds,
	} {
		if err := read(ctx, out); err != nil {
			i.failed.Inc()
			i.cfg.Logger.WarnContext(ctx, "a scrape went without", "what", what, "error", err)
		}
	}
}

func value(desc *prometheus.Desc, number float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, number, labels...)
}

func (i *installation) countExecutions(ctx context.Context, out chan<- prometheus.Metric) error {
	counts, err := i.cfg.Executions.Count(ctx, execution.AllTenants)
	if err != nil {
		return err
	}
	for _, state := range execution.States() {
		count := counts[state]
		out <- value(i.executions, float64(count.Executions), string(state))
		if state.Terminal() {
			continue
		}
		age := 0.0
		if count.Oldest != nil {
			age = max(0, time.Since(time.UnixMilli(count.Oldest.CreatedAtMs)).Seconds())
		}
		out <- value(i.oldest, age, string(state))
	}
	return nil
}

func (i *installation) countRemote(ctx context.Context, out chan<- prometheus.Metric) error {
	count, err := i.cfg.Executions.CountOutside(ctx)
	if err != nil {
		return err
	}
	out <- value(i.remote, float64(count))
	return nil
}

func (i *installation) measureQueues(ctx context.Context, out chan<- prometheus.Metric) error {
	depths, err := i.cfg.Queues.Depth(ctx)
	if err != nil {
		return err
	}
	for name, depth := range depths {
		for state, count := range map[string]int64{
			"pending": depth.Pending, "active": depth.Active, "scheduled": depth.Scheduled, "retry": depth.Retry,
			"archived": depth.Archived,
		} {
			out <- value(i.tasks, float64(count), name, state)
		}
	}
	latencies, err := i.cfg.Queues.Latency(ctx)
	if err != nil {
		return err
	}
	for name, latency := range latencies {
		out <- value(i.latency, latency.Seconds(), name)
	}
	return nil
}

func (i *installation) countWorkers(ctx context.Context, out chan<- prometheus.Metric) error {
	workers, err := i.cfg.Queues.Workers(ctx)
	if err != nil {
		return err
	}
	serving := make(map[string]int)
	slots, held := 0, 0
	for _, worker := range workers {
		slots += worker.Concurrency
		held += worker.Held
		for _, name := range worker.Queues {
			serving[name]++
		}
	}
	for name, count := range serving {
		out <- value(i.workers, float64(count), name)
	}
	out <- value(i.slots, float64(slots))
	out <- value(i.held, float64(held))
	return nil
}

func (i *installation) readMemory(ctx context.Context, out chan<- prometheus.Metric) error {
	memory, err := i.cfg.Memory(ctx)
	if err != nil {
		return err
	}
	out <- value(i.memory, float64(memory.Used))
	out <- value(i.memoryMax, float64(memory.Max))
	return nil
}

func (i *installation) weighKinds(ctx context.Context, out chan<- prometheus.Metric) error {
	kinds, err := i.cfg.Kinds(ctx)
	if err != nil {
		return err
	}
	for kind, bytes := range kinds {
		out <- value(i.kinds, bytes, kind)
	}
	return nil
}
