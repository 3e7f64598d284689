package execution

// ForkRequest is the body of a fork: a new execution that goes on from a checkpoint of another one, in a conversation of
// its own whose history is that of the other up to there. What is absent stays as it was.
type ForkRequest struct {
	Step         Step   `json:"step"`
	Input        *Input `json:"input,omitempty"` // a user_message that follows the history
	Model        string `json:"model,omitempty" api:"nonempty"`
	Instructions string `json:"instructions,omitempty" api:"nonempty"`
}

// Origin is the checkpoint that an execution was forked from.
type Origin struct {
	ExecutionID ID   `json:"executionId"`
	Step        Step `json:"step"`
}
