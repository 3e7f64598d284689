package backend

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
}
