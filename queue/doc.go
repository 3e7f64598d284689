// Package queue wakes workers through Asynq: one kind of task, ids only, nothing in it is truth.
//
// Client enqueues, says whether tasks are standing, and counts. Server calls a Runner. A go-redis hook on the server's
// client replaces Asynq's poll by a wake-up and repairs two of its defects: completions sent with an ended context, and
// an unbounded loop of failing dequeues. Only this package imports asynq (the API mounts asynqmon beside it). It must not
// know the journal, agents or HTTP.
package queue
