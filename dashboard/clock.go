package dashboard

import (
	"slices"

	"github.com/pawl-run/pawl/execution"
)

// maxInstant is the last instant that a picture knows, in ms: the last one of a browser's calendar. Between two that are drawn a
// difference is always a number.
const maxInstant = 8_640_000_000_000_000

// forward gives instants, one after the other, that go neither back nor out of the calendar: the store's clock may have been
// set back, and what is stored may be damaged.
type forward struct{ last int64 }

func (f *forward) at(ms int64) int64 {
	f.last = min(max(f.last, ms), maxInstant)
	return f.last
}

// inOrder are the events with times that only go forward. One whose time cannot be read has that of the one before it, the
// first ones that of the one behind them.
func inOrder(events []execution.Event) []execution.Event {
	var clock forward
	if known := slices.IndexFunc(events, func(e execution.Event) bool { return e.OccurredAtMs != 0 }); known > 0 {
		clock.at(events[known].OccurredAtMs)
	}
	ordered := make([]execution.Event, len(events))
	for i, event := range events {
		event.OccurredAtMs = clock.at(event.OccurredAtMs)
		ordered[i] = event
	}
	return ordered
}

// stepsInOrder are the checkpoints with times that only go forward. Those whose times cannot be read keep none.
func stepsInOrder(steps []execution.Checkpoint) []execution.Checkpoint {
	var clock forward
	ordered := make([]execution.Checkpoint, len(steps))
	for i, one := range steps {
		if one.CommittedAtMs > 0 {
			one.CommittedAtMs = clock.at(one.CommittedAtMs)
		}
		one.ClaimedAtMs = min(max(0, one.ClaimedAtMs), one.CommittedAtMs)
		ordered[i] = one
	}
	return ordered
}

// lasted is when the work began that led from one checkpoint to the next; false when that cannot be told.
func lasted(before, one execution.Checkpoint) (startMs int64, known bool) {
	if before.CommittedAtMs <= 0 || one.CommittedAtMs <= 0 || one.CommittedAtMs < before.CommittedAtMs {
		return 0, false
	}
	return min(max(before.CommittedAtMs, one.ClaimedAtMs), one.CommittedAtMs), true
}
