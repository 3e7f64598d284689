package executor

import (
	"encoding/json"
	"fmt"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
)

// FirstCheckpoint is checkpoint 0: boundary run_start, status running, the user's message in the history.
func FirstCheckpoint(definition *agent.Definition, request execution.CreateRequest) Checkpoint {
	state := NewRunState(definition, request)
	state.Status = StatusRunning
	state.MessageCount = 1
	return NewCheckpoint(0, RunStart, state)
}

// Opening is what a new execution is stored with: checkpoint 0, the name of its boundary, and the messages that it adds to
// its conversation. Whoever reserves executions gets it as a function value.
func Opening(definition *agent.Definition, request execution.CreateRequest) (checkpoint []byte, node string,
	messages [][]byte, err error,
) {
	first := FirstCheckpoint(definition, request)
	if first.State.Limits == limitsOf(definition) {
		first.State.Limits = execution.Limits{} // the definition's
	}
	if checkpoint, err = first.Encode(); err != nil {
		return nil, "", nil, err
	}
	message, err := json.Marshal(firstMessage(request))
	if err != nil {
		return nil, "", nil, fmt.Errorf("encode the first message: %w", err)
	}
	return checkpoint, string(RunStart), [][]byte{message}, nil
}

// firstMessage is what the request says.
func firstMessage(request execution.CreateRequest) execution.Message {
	return execution.Message{Role: execution.RoleUser, Text: request.Input.Text, Parts: request.Input.Parts}
}
