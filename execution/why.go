package execution

// WaitingFor says in one word what has to happen before an execution goes on.
type WaitingFor string

// What an execution can wait for.
const (
	WaitsForNothing  WaitingFor = "nothing"  // it has ended
	WaitsForWorker   WaitingFor = "worker"   // a task is standing, or should be: somebody has to take it
	WaitsForNode     WaitingFor = "node"     // a holder is running the node
	WaitsForReclaim  WaitingFor = "reclaim"  // the holder's claim ran out: the reaper takes it back
	WaitsForTurn     WaitingFor = "turn"     // another execution of its conversation is active
	WaitsForSchedule WaitingFor = "schedule" // its time has not come
	WaitsForRetry    WaitingFor = "retry"    // a node failed and is tried again
	WaitsForInput    WaitingFor = "input"    // an interaction is open
	WaitsForAuth     WaitingFor = "auth"     // somebody has to authorize it
	WaitsForChild    WaitingFor = "child"    // delegates are running
	WaitsForRemote   WaitingFor = "remote"   // a remote agent is working
	WaitsForResume   WaitingFor = "resume"   // it is suspended
	WaitsForCleanup  WaitingFor = "cleanup"  // it is finalizing, or has ended and something is still to be undone
	WaitsForCancel   WaitingFor = "cancel"   // its parent has ended: the reaper ends it
)

// Why says what an execution waits for and what happens next by itself.
type Why struct {
	State      State       `json:"state"`
	WaitingFor WaitingFor  `json:"waitingFor"`
	SinceAtMs  int64       `json:"sinceAtMs"`
	Detail     string      `json:"detail"`              // a sentence for people
	Next       *WhyNext    `json:"next,omitempty"`      // nil: nothing happens by itself
	Holder     *WhyHolder  `json:"holder,omitempty"`    // who holds the claim
	Queue      *WhyQueue   `json:"queue,omitempty"`     // where its task stands
	Children   []Child     `json:"children,omitempty"`  // those that have not ended, if it waits for them
	Needs      []WhyNeed   `json:"needs,omitempty"`     // what people have to do, the first of it
	LastError  *WhyFailure `json:"lastError,omitempty"` // why the last attempt failed
}

// WhyNext is what happens by itself, and when.
type WhyNext struct {
	AtMs int64  `json:"atMs"`
	What string `json:"what"` // a few words for people
}

// WhyHolder is the worker that holds the claim.
type WhyHolder struct {
	WorkerID         string `json:"workerId"`
	Node             string `json:"node"`
	ClaimExpiresAtMs int64  `json:"claimExpiresAtMs"`
}

// WhyQueue is where the task of an execution stands. Position is how many tasks are before it, -1 when that is not known.
// Workers is how many live workers serve the queue.
type WhyQueue struct {
	Name     string `json:"name"`
	Position int64  `json:"position"`
	Workers  int    `json:"workers"`
	Paused   bool   `json:"paused,omitempty"` // an operator has paused it
}

// MaxWhyNeeds is how many needs are told at most.
const MaxWhyNeeds = 5

// WhyNeed is something that a person has to do: to answer the interaction of an execution, or to resume it. That is the
// execution which was asked about, or one below it, for which it waits.
type WhyNeed struct {
	Execution   ID           `json:"executionId"`
	Agent       string       `json:"agent"`
	Interaction *Interaction `json:"interaction,omitempty"` // to be answered
	Suspension  *Suspension  `json:"suspension,omitempty"`  // to be resumed
}

// WhyFailure is the last failed attempt at the step.
type WhyFailure struct {
	Code    string `json:"code"`
	Message string `json:"message,omitempty"`
	Attempt int    `json:"attempt"`
	AtMs    int64  `json:"atMs"`
}
