// Package reaper brings back what nobody works on: executions whose claim ran out, whose hand-off got lost, whose timer
// fired or whose time is over.
//
// A Pass is one bounded sweep over the store's partitions. It reads the entries whose time has come, asks the queue
// whether the tasks of hand-offs are standing, makes every step runnable that has none, and enqueues its task. Run
// repeats passes until its context ends; an error never ends it.
//
// Clean undoes, through a Cleaner, what executions that have ended left outside: delegations and remote tasks. It runs beside
// the passes, and so do repairs of the queue: neither a slow outside nor a part of the queue that does not answer delays
// recovery.
//
// # Invariants
//
//   - The reaper only wakes. It never decides that an execution failed: what is to happen at an entry's time stands in
//     the store, and the store's scripts check again that the entry is still due as it was seen.
//   - Any number of reapers may run. What two of them do at once has one effect.
//   - One bad entry never stops a sweep: it is counted, moved on by a minute, and the sweep goes on.
//   - A queue that does not answer is unknown, and unknown moves nothing: a backlog never breeds duplicates.
//
// The package must not know agents, Redis, Asynq or the loop.
package reaper
