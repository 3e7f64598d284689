package reaper

import (
	"log/slog"
	"sync"
)

// Report counts what a pass did, or what all passes did together.
type Report struct {
	Passes    int64 `json:"passes"`
	Swept     int64 `json:"swept"`     // entries whose time had come
	Lookups   int64 `json:"lookups"`   // tasks the queue was asked for
	Standing  int64 `json:"standing"`  // of those, the ones that were standing
	Unknown   int64 `json:"unknown"`   // entries left alone because the queue did not answer
	Postponed int64 `json:"postponed"` // entries moved on because their task was standing
	Requeued  int64 `json:"requeued"`  // steps made runnable again
	Expired   int64 `json:"expired"`   // entries whose time was over
	Purged    int64 `json:"purged"`    // ended executions and idempotency keys looked at for the last time
	MovedOn   int64 `json:"movedOn"`   // entries that were no longer due when they were written
	Enqueued  int64 `json:"enqueued"`  // tasks
	Cleaned   int64 `json:"cleaned"`   // executions after which nothing is left to undo
	Unclean   int64 `json:"unclean"`   // attempts to clean up that failed; they come again
	Bad       int64 `json:"bad"`       // entries that could not be handled; moved on by a minute
	Newer     int64 `json:"newer"`     // entries of rows that are of a later release; moved on by seconds
	Errors    int64 `json:"errors"`    // calls that failed, of the store or of the queue
	Repaired  int64 `json:"repaired"`  // what the queue's repair mended
}

// Zero reports whether nothing was found and nothing failed.
func (r Report) Zero() bool {
	r.Passes = 0
	return r == Report{}
}

// Add returns the sum of both reports.
func (r Report) Add(s Report) Report {
	return Report{
		Passes: r.Passes + s.Passes, Swept: r.Swept + s.Swept, Lookups: r.Lookups + s.Lookups,
		Standing: r.Standing + s.Standing, Unknown: r.Unknown + s.Unknown, Postponed: r.Postponed + s.Postponed,
		Requeued: r.Requeued + s.Requeued, Expired: r.Expired + s.Expired, Purged: r.Purged + s.Purged,
		Cleaned: r.Cleaned + s.Cleaned, Unclean: r.Unclean + s.Unclean,
		Newer: r.Newer + s.Newer, MovedOn: r.MovedOn + s.MovedOn, Enqueued: r.Enqueued + s.Enqueued, Bad: r.Bad + s.Bad,
		Errors: r.Errors + s.Errors, Repaired: r.Repaired + s.Repaired,
	}
}

// LogValue shows the counts that are not zero.
func (r Report) LogValue() slog.Value {
	var attrs []slog.Attr
	for _, count := range []struct {
		name  string
		value int64
	}{
		{"passes", r.Passes},
		{"swept", r.Swept},
		{"lookups", r.Lookups},
		{"standing", r.Standing},
		{"unknown", r.Unknown},
		{"postponed", r.Postponed},
		{"requeued", r.Requeued},
		{"expired", r.Expired},
		{"purged", r.Purged},
		{"movedOn", r.MovedOn},
		{"enqueued", r.Enqueued},
		{"cleaned", r.Cleaned},
		{"unclean", r.Unclean},
		{"bad", r.Bad},
		{"newer", r.Newer},
		{"errors", r.Errors},
		{"repaired", r.Repaired},
	} {
		if count.value != 0 {
			attrs = append(attrs, slog.Int64(count.name, count.value))
		}
	}
	return slog.GroupValue(attrs...)
}

// tally is a report that several goroutines add to, with the errors met so far.
type tally struct {
	mu     sync.Mutex
	report Report
	errs   []error
	away   int // calls in a row that found no store
}

// maxAway is after how many calls in a row without an answer the store is taken to be away as a whole. One shard of a
// cluster that is down leaves answers of the others in between.
const maxAway = 2 * workers

// heard notes whether the store answered.
func (t *tally) heard(answered bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.away++
	if answered {
		t.away = 0
	}
}

// gone reports whether the store is away: what is left would only wait for the same silence.
func (t *tally) gone() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.away >= maxAway
}

// maxErrors bounds the errors that one pass keeps; the rest is only counted.
const maxErrors = 5

func (t *tally) add(r Report) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.report = t.report.Add(r)
}

// stuck reports whether entries were left where they are: another page would only give the same ones.
func (t *tally) stuck() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.report.Errors > t.report.Bad
}

func (t *tally) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.report.Errors++
	if len(t.errs) < maxErrors {
		t.errs = append(t.errs, err)
	}
}

func (r Report) minus(s Report) Report {
	return r.Add(Report{
		Passes: -s.Passes, Swept: -s.Swept, Lookups: -s.Lookups, Standing: -s.Standing, Unknown: -s.Unknown,
		Postponed: -s.Postponed, Requeued: -s.Requeued, Expired: -s.Expired, Purged: -s.Purged, MovedOn: -s.MovedOn,
		Cleaned: -s.Cleaned, Unclean: -s.Unclean, Enqueued: -s.Enqueued, Bad: -s.Bad, Newer: -s.Newer, Errors: -s.Errors, Repaired: -s.Repaired,
	})
}
