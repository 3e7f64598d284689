package backend

import "time"

// RunResult is what a call of a backend came to. Status and Termination are separate and may disagree.
type RunResult struct {
	AgentID     string
	Status      RunStatus
	Termination TerminationReason
	// StatusReason takes the place of the reason that follows from Status and Termination; nil: that one holds.
	StatusReason *string
	// Response is the answer's text when Output has none.
	Response *string
	Output   RunOutput
	Steps    int
	// RunID is the id of a child's run, never the root's; empty when there is none.
	RunID string
	// State is what the next call goes on from; nil: the earlier state is kept.
	State *PersistedState
	// After is how long to wait before the run is asked about again when its reason is AwaitingTasks; 0: the backend has
	// no wish. What a run that waits for input or credentials asks for is the message of its Status.
	After time.Duration
}
