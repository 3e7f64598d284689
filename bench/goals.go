package bench

import (
	"fmt"
	"slices"
	"strings"
)

// Promise is a goal and what was measured for it.
type Promise struct {
	Measurement string // the name of the result
	Metric      *Metric
}

// Promises are the goals of the report, in its order.
func (r *Report) Promises() []Promise {
	var all []Promise
	for i := range r.Results {
		for j := range r.Results[i].Metrics {
			if m := &r.Results[i].Metrics[j]; m.Goal != nil {
				all = append(all, Promise{r.Results[i].Name, m})
			}
		}
	}
	return all
}

// Missed are the goals that were not reached, each in a line.
func (r *Report) Missed() []string {
	var lines []string
	for _, p := range r.Promises() {
		if !p.Metric.Met() {
			goal, _ := goalOf(*p.Metric)
			lines = append(lines, fmt.Sprintf("%s: %s, goal %s (%s)",
				p.Metric.Goal.Says, withUnit(p.Metric.Median, p.Metric.Unit), goal, p.Measurement))
		}
	}
	return lines
}

// goalTable writes the goals as Markdown.
func (r *Report) goalTable(b *strings.Builder) {
	promises := r.Promises()
	if len(promises) == 0 {
		return
	}
	b.WriteString("\n### Goals\n\n| | measured | goal | | by |\n|---|---:|---:|---|---|\n")
	for _, p := range promises {
		goal, met := goalOf(*p.Metric)
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n",
			p.Metric.Goal.Says, withUnit(p.Metric.Median, p.Metric.Unit), goal, met, p.Measurement)
	}
}

// Merge takes over what an older report measured and this one did not.
func (r *Report) Merge(older *Report) {
	order := append(Mains(), Sweeps()...)
	for _, result := range older.Results {
		known := func(have Result) bool { return have.Name == result.Name }
		if slices.Contains(order, result.Name) && !slices.ContainsFunc(r.Results, known) {
			r.Results = append(r.Results, result)
		}
	}
	slices.SortStableFunc(r.Results, func(a, b Result) int {
		return slices.Index(order, a.Name) - slices.Index(order, b.Name)
	})
}
