package execution

// TaskState is where a task is, in the queue's own words.
type TaskState string

// The states of a task. A task that is absent was never placed, was done, or is lost: the reaper places it again.
const (
	TaskAbsent    TaskState = ""
	TaskPending   TaskState = "pending"   // it waits for a worker
	TaskActive    TaskState = "active"    // a worker has it, or died with it
	TaskScheduled TaskState = "scheduled" // it waits for its time
	TaskRetry     TaskState = "retry"     // it was handed back for a while
)

// Place is where a task stands in its queue. Position is how many tasks come before it, -1 when that is not known. Workers
// is how many live workers serve the queue.
type Place struct {
	State    TaskState
	Position int64
	Workers  int
	Paused   bool // an operator has paused the queue
}
