package telemetry

import (
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	// scrapeTimeout bounds a scrape; Prometheus waits for 10 s by default.
	scrapeTimeout = 8 * time.Second
	// redisTimeout bounds what a scrape asks Redis. It is shorter: what Redis has not said by then is left out, and the program's own
	// measurements are not.
	redisTimeout = 4 * time.Second
)

// Metrics are the measurements of one program. It is safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	whole    sync.Once // of the installation, which programs of one process ask about once

	// remotes are asked by several programs of one process too.
	once    sync.Once
	remotes *Remotes
}

// New makes the metrics of a program: api, worker, reaper or dev.
func New(program, version string) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "pawl_build_info", Help: "1: the program and its version.",
		ConstLabels: prometheus.Labels{"program": program, "version": version},
	})
	build.Set(1)
	m.registry.MustRegister(
		build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

// Handler serves the metrics in the formats of Prometheus.
func (m *Metrics) Handler() http.Handler {
	return promhttp.InstrumentMetricHandler(m.registry, promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		Timeout: scrapeTimeout, ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 4,
	}))
}

// counter registers a counter.
func (m *Metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(c)
	return c
}

// seconds registers a histogram of durations.
func (m *Metrics) seconds(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	m.registry.MustRegister(h)
	return h
}

// total registers a counter that somebody else counts.
func (m *Metrics) total(name, help string, labels prometheus.Labels, count func() int64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(
		prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels}, func() float64 { return float64(count()) },
	))
}

// gauge registers a value that somebody else knows.
func (m *Metrics) gauge(name, help string, value func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
}

// quick are the bounds, in seconds, of what takes less than a second when all is well; slow those of models and tools.
func quick() []float64 { return prometheus.ExponentialBuckets(0.0005, 2.5, 12) }
func slow() []float64  { return prometheus.ExponentialBuckets(0.02, 2.5, 12) }
