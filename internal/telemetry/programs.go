package telemetry

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pawl-run/pawl/reaper"
)

// Reaper registers what a reaper has done.
func (m *Metrics) Reaper(total func() reaper.Report) {
	for action, count := range map[string]func(reaper.Report) int64{
		"requeued":  func(r reaper.Report) int64 { return r.Requeued },
		"postponed": func(r reaper.Report) int64 { return r.Postponed },
		"expired":   func(r reaper.Report) int64 { return r.Expired },
		"purged":    func(r reaper.Report) int64 { return r.Purged },
		"newer":     func(r reaper.Report) int64 { return r.Newer },
		"bad":       func(r reaper.Report) int64 { return r.Bad },
		"cleaned":   func(r reaper.Report) int64 { return r.Cleaned },
		"unclean":   func(r reaper.Report) int64 { return r.Unclean },
		"repaired":  func(r reaper.Report) int64 { return r.Repaired },
	} {
		m.total("pawl_reaper_entries_total", "Entries whose time had come, by what the reaper did about them.",
			prometheus.Labels{"action": action}, func() int64 { return count(total()) })
	}
	m.total("pawl_reaper_passes_total", "Passes of this reaper over what is due.", nil,
		func() int64 { return total().Passes })
	m.total("pawl_reaper_errors_total", "Calls of this reaper that failed.", nil, func() int64 { return total().Errors })
}

// Requests measures an API's answers and streams. It satisfies httpapi.Observer.
type Requests struct {
	answers *prometheus.HistogramVec
	streams *prometheus.GaugeVec
}

// Requests registers the measurements of an API.
func (m *Metrics) Requests() *Requests {
	r := &Requests{
		answers: m.seconds("pawl_http_request_seconds", "How long requests took until their answer was complete; waits and "+
			"streams take as long as they were asked to.", quick(), "method", "route", "status"),
		streams: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "pawl_stream_clients", Help: "Clients that read a stream now.",
		}, []string{"route"}),
	}
	m.registry.MustRegister(r.streams)
	return r
}

// Answered implements httpapi.Observer.
func (r *Requests) Answered(method, route string, status int, took time.Duration) {
	if !slices.Contains(methods(), method) {
		method = other // whatever a client has made up
	}
	r.answers.WithLabelValues(method, route, strconv.Itoa(status)).Observe(took.Seconds())
}

// Streaming implements httpapi.Observer.
func (r *Requests) Streaming(route string, clients int) {
	r.streams.WithLabelValues(route).Add(float64(clients))
}

// methods are those that the API answers.
func methods() []string {
	return []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete, http.MethodOptions}
}
