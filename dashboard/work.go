package dashboard

import (
	"maps"
	"slices"
	"strconv"
)

// workBody is what the live workers together did of late. Its numbers are texts: what nobody tells is a dash.
type workBody struct {
	Tellers, Silent       int // of the live workers, who tells, and who does not
	Steps, Started, Ended string
	Reclaims, Fenced      string
	Usual, Slow, HandOffs string
	SinceMs               int64 // the start of the worker that has told for longest
}

// unknown stands for what nobody tells.
const unknown = "–"

// workOf sums up what the workers tell.
func workOf(workers []Worker) workBody {
	body := workBody{
		Steps: unknown, Started: unknown, Ended: unknown, Reclaims: unknown, Fenced: unknown, Usual: unknown, Slow: unknown,
		HandOffs: "none",
	}
	var steps, started, ended float64
	var reclaims, fenced int64
	waits := map[int64]int64{}
	for i := range workers {
		work := workers[i].Work
		if work == nil {
			body.Silent++
			continue
		}
		body.Tellers++
		if body.SinceMs == 0 || workers[i].StartedAtMs < body.SinceMs {
			body.SinceMs = workers[i].StartedAtMs
		}
		minutes := max(float64(work.SpanMs), 1000) / 60_000 // a worker that has just begun has no rate yet
		steps += float64(work.Steps) / minutes
		started += float64(work.Started) / minutes
		ended += float64(work.Ended) / minutes
		reclaims += work.Reclaims
		fenced += work.Fenced
		for bound, count := range work.Waits {
			waits[bound] += count
		}
	}
	if body.Tellers == 0 {
		return body
	}
	body.Steps, body.Started, body.Ended = perMinute(steps), perMinute(started), perMinute(ended)
	body.Reclaims, body.Fenced = thousands(reclaims), thousands(fenced)
	body.waited(waits)
	return body
}

// waited sums up how long tasks waited for a worker.
func (w *workBody) waited(waits map[int64]int64) {
	bounds := slices.Sorted(maps.Keys(waits))
	if len(bounds) == 0 {
		return
	}
	total := int64(0)
	for _, bound := range bounds {
		total += waits[bound]
	}
	w.Usual, w.Slow, w.HandOffs = within(bounds, waits, total, 50), within(bounds, waits, total, 99), thousands(total)
}

// perMinute is a rate, with a decimal where it is small.
func perMinute(rate float64) string {
	if rate > 0 && rate < 9.95 {
		return strconv.FormatFloat(rate, 'f', 1, 64) + " / min"
	}
	return thousands(int64(rate+0.5)) + " / min"
}

// within is the time within which so many in a hundred of the waits were over.
func within(bounds []int64, waits map[int64]int64, total, percent int64) string {
	sum := int64(0)
	for _, bound := range bounds {
		if sum += waits[bound]; sum*100 >= total*percent {
			return "≤ " + duration(bound)
		}
	}
	return unknown // not reached: all of them are within the last bound
}
