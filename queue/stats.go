package queue

import "sync/atomic"

// Stats counts what a Server has done since its start. Read it for metrics and benchmarks.
type Stats struct {
	Done        int64 // tasks whose runner returned nil
	Failed      int64 // tasks whose runner returned an error or panicked
	PutBack     int64 // tasks put back by the runner or for want of a slot
	Dropped     int64 // tasks whose payload nobody can read
	Foreign     int64 // tasks of another kind, given back to Asynq
	EmptyRounds int64 // looks at all queues that found no task
	Wakes       int64 // wake-ups that ended a wait and named a queue
	LookErrors  int64 // looks that Redis refused or did not answer
	Gone        int64 // ends of tasks that somebody else had ended
	Running     int64 // runners at work now
}

// counters is Stats while it is written.
type counters struct {
	done, failed, putBack, dropped, foreign atomic.Int64
	emptyRounds, wakes, lookErrors, gone    atomic.Int64
	running                                 atomic.Int64
}

func (c *counters) stats() Stats {
	return Stats{
		Done: c.done.Load(), Failed: c.failed.Load(), PutBack: c.putBack.Load(), Dropped: c.dropped.Load(),
		Foreign: c.foreign.Load(), EmptyRounds: c.emptyRounds.Load(), Wakes: c.wakes.Load(),
		LookErrors: c.lookErrors.Load(), Gone: c.gone.Load(), Running: c.running.Load(),
	}
}
