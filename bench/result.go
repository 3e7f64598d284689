package bench

import (
	"context"
	"slices"
	"time"
)

// Measure is one measurement.
type Measure func(ctx context.Context, env *Env) (Result, error)

// Result is what a measurement found.
type Result struct {
	Name     string        `json:"name"`
	Title    string        `json:"title"`
	Began    time.Time     `json:"began"`
	Took     time.Duration `json:"tookNs"`
	Load     string        `json:"loadAverage"` // of the machine when it began; other work makes figures worse
	Revision string        `json:"revision"`    // of the program
	Pairs    int           `json:"pairs"`
	Command  string        `json:"command,omitempty"` // that measured it, in a document
	Metrics  []Metric      `json:"metrics"`
	Notes    []string      `json:"notes,omitempty"`
}

// Metric is one figure, with a sample of each pair.
type Metric struct {
	Name    string    `json:"name"`
	Unit    string    `json:"unit"`
	Samples []float64 `json:"samples"`
	Median  float64   `json:"median"`
	Goal    *Goal     `json:"goal,omitempty"`
}

// Goal is what a metric's median is held against.
type Goal struct {
	Says   string  `json:"says"`   // what is promised, in words
	AtMost bool    `json:"atMost"` // else at least
	Value  float64 `json:"value"`
}

// Met reports whether the median reaches the goal.
func (m *Metric) Met() bool {
	if m.Goal.AtMost {
		return m.Median <= m.Goal.Value
	}
	return m.Median >= m.Goal.Value
}

// Metric finds a metric by name; nil when there is none.
func (r *Result) Metric(name string) *Metric {
	for i := range r.Metrics {
		if r.Metrics[i].Name == name {
			return &r.Metrics[i]
		}
	}
	return nil
}

// add notes one more sample of a metric.
func (r *Result) add(name, unit string, sample float64) *Metric {
	m := r.Metric(name)
	if m == nil {
		r.Metrics = append(r.Metrics, Metric{Name: name, Unit: unit})
		m = &r.Metrics[len(r.Metrics)-1]
	}
	m.Samples = append(m.Samples, sample)
	m.Median = median(m.Samples)
	return m
}

// goal holds a metric against a value, if the metric was measured.
func (r *Result) goal(name string, goal Goal, says string) {
	if m := r.Metric(name); m != nil {
		goal.Says = says
		m.Goal = &goal
	}
}

func atLeast(value float64) Goal { return Goal{Value: value} }
func atMost(value float64) Goal  { return Goal{Value: value, AtMost: true} }

func median(samples []float64) float64 { return quantile(samples, 0.5) }

// quantile interpolates between the two nearest samples; 0 when there are none.
func quantile(samples []float64, q float64) float64 {
	if len(samples) == 0 {
		return 0
	}
	sorted := slices.Clone(samples)
	slices.Sort(sorted)
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (sorted[high]-sorted[low])*(at-float64(low))
}
