// Package queue wakes workers through Asynq: one kind of task, ids only, nothing in it is truth.
//
// Client enqueues, says which tasks are standing, counts, and repairs what Asynq leaves behind. Server calls a Runner.
// Both give Asynq a view of the caller's Redis client that answers a few of Asynq's scripts itself. The view is made by
// embedding and not by AddHook, because a hook on a shared client would see every other user's commands and could never
// be taken off again. Through the view
//
//   - an enqueue travels in one round trip with its wake-up, and many tasks travel together;
//   - enqueues that come while another one is under way share the next round trip;
//   - ends of tasks, and wake-ups that were held back, ride along with what the process sends anyway;
//   - a dequeue is answered from what one round trip took where tasks are known to be: as many as there are free slots;
//   - started executions come before new ones, and Asynq's own order of queues is of no account;
//   - a dequeue that finds nothing waits for a wake-up and not in Asynq's sleep;
//   - completions with an ended context are still sent, because Asynq repeats a failed one with a context that it has
//     already canceled;
//   - dequeue errors back off, because Asynq repeats them without a pause;
//   - a task put back for a moment goes to its queue at once and not to Asynq's forwarder, which counts in seconds.
//
// A wake-up is either in process (Waker) or a token: an entry of a short, capped list that one waiting worker pops. A lost
// or a superfluous wake-up is harmless: a waiting server looks for itself once a second. Tokens are sent only when no server
// of this process has a slot.
//
// Invariants: a task id is queued at most once; no task is taken that has no free slot, and Stop gives back what Asynq has
// not got; a payload is under 200 bytes; no task is ever archived by a fault of its own. Only this package imports asynq (the
// API mounts asynqmon beside it). It must not know the journal, agents or HTTP.
package queue
