package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/executor"
	"github.com/pawl-run/pawl/queue"
)

// Work measures a worker's steps. It satisfies executor.Observer.
type Work struct {
	claims   prometheus.Counter
	reclaims prometheus.Counter
	fenced   prometheus.Counter
	newer    prometheus.Counter
	held     prometheus.Observer
	ended    *prometheus.CounterVec
	node     *prometheus.HistogramVec
}

// Work registers the measurements of a worker's steps.
func (m *Metrics) Work() *Work {
	w := &Work{
		claims: m.counter("pawl_claims_total", "Claims that were granted to this worker.").WithLabelValues(),
		ended:  m.counter("pawl_executions_ended_total", "Executions that ended with a step of this worker.", "agent", "state"),
		node: m.seconds("pawl_node_seconds", "How long nodes of the agent loop have run, by whether they came to a boundary.",
			slow(), "node", "reached"),
	}
	w.held = m.seconds("pawl_claim_held_seconds", "How long claims were held, from their grant to their end.", slow()).WithLabelValues()
	w.reclaims = m.counter("pawl_reclaims_total", "Of the claims, those of steps whose earlier claim had run out.").WithLabelValues()
	w.fenced = m.counter("pawl_fenced_total", "Claims that were superseded: nothing of their nodes was written.").WithLabelValues()
	w.newer = m.counter("pawl_newer_total", "Claims given back because a record of the execution is of a later release.").WithLabelValues()
	return w
}

// Claimed implements executor.Observer.
func (w *Work) Claimed(reclaimed bool) {
	w.claims.Inc()
	if reclaimed {
		w.reclaims.Inc()
	}
}

// Held implements executor.Observer.
func (w *Work) Held(took time.Duration) { w.held.Observe(took.Seconds()) }

// Ran implements executor.Observer.
func (w *Work) Ran(node executor.Node, reached bool, took time.Duration) {
	word := "no"
	if reached {
		word = "yes"
	}
	w.node.WithLabelValues(string(node), word).Observe(took.Seconds())
}

// Fenced implements executor.Observer.
func (w *Work) Fenced() { w.fenced.Inc() }

// Newer implements executor.Observer.
func (w *Work) Newer() { w.newer.Inc() }

// Ended implements executor.Observer.
func (w *Work) Ended(agent string, state execution.State) {
	w.ended.WithLabelValues(agent, string(state)).Inc()
}

// Slots registers what a worker's queue server does with its slots.
func (m *Metrics) Slots(concurrency int, stats func() queue.Stats) {
	m.gauge("pawl_worker_slots", "Tasks that this worker can run at once.", func() float64 { return float64(concurrency) })
	m.gauge("pawl_worker_slots_busy", "Tasks that this worker runs now.", func() float64 { return float64(stats().Running) })
	for result, count := range map[string]func(queue.Stats) int64{
		"done":     func(s queue.Stats) int64 { return s.Done },
		"failed":   func(s queue.Stats) int64 { return s.Failed },
		"put_back": func(s queue.Stats) int64 { return s.PutBack },
		"dropped":  func(s queue.Stats) int64 { return s.Dropped },
	} {
		m.total("pawl_tasks_total", "Tasks that this worker has taken, by what became of them.",
			prometheus.Labels{"result": result}, func() int64 { return count(stats()) })
	}
	m.total("pawl_queue_looks_empty_total", "Looks at the queues that found no task.", nil,
		func() int64 { return stats().EmptyRounds })
	m.total("pawl_queue_look_errors_total", "Looks at the queues that Redis did not answer.", nil,
		func() int64 { return stats().LookErrors })
}

// Unplaced registers how many tasks could not be enqueued and were left to the reaper.
func (m *Metrics) Unplaced(count func() int64) {
	m.total("pawl_tasks_unplaced_total", "Tasks that could not be enqueued and were left to the reaper.", nil, count)
}

// Waits registers how long tasks wait, and gives what is to be told of each.
func (m *Metrics) Waits() func(queue string, took time.Duration) {
	waits := m.seconds("pawl_task_wait_seconds",
		"How long tasks have waited from the moment they might run until a worker took them: the hand-off between steps.",
		quick(), "queue")
	return func(queue string, took time.Duration) { waits.WithLabelValues(queue).Observe(took.Seconds()) }
}
