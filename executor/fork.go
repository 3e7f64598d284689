package executor

import (
	"encoding/json"
	"fmt"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// forkedText is the result of a call that was asked for right before the history was forked, and that the fork leaves.
const forkedText = "This call was not made: the conversation went on another way."

// Forkable reports whether another execution can go on from a checkpoint of the node: from all but those of a batch of tool
// calls, whose ledger belongs to its execution. From the end of a run it can with another word of the user only.
func Forkable(node Node) bool { return node != ToolCall && node != ToolReturn }

// Forking is what a fork is stored with: checkpoint 0, its boundary, what it adds to the history, and how much of the other
// one's history it takes. first is checkpoint 0 of the execution it comes from, at the one it goes on from; request is the
// fork's own. Whoever reserves executions gets it as a function value.
//
// When the request says something, says being true, the fork is a new run behind that history; else it goes on with the
// very state of the checkpoint, but for what was spent: usage begins at nothing. An error of a checkpoint that cannot be
// forked is an *execution.APIError of the field step, id or input.
func Forking(definition *agent.Definition, request execution.CreateRequest, first, at []byte, says bool) (
	out journal.NewExecution, err error,
) {
	opening, err := DecodeCheckpoint(first)
	if err != nil {
		return out, unreadable("id", err)
	}
	source, err := DecodeCheckpoint(at)
	if err != nil {
		return out, unreadable("step", err)
	}
	if !Forkable(source.Node) {
		return out, execution.NewAPIError(execution.InvalidRequest,
			"the step is in the middle of a batch of tool calls: fork the model_response before it, which makes the calls again, "+
				"or the prepare_model_request behind it, which keeps their results").In("step")
	}
	ended := source.Node == RunComplete || source.Node == RunFailed
	if ended && !says {
		return out, execution.NewAPIError(execution.InvalidRequest,
			"input is required: the run ended at that step").In("input")
	}
	out.Fork = &journal.Fork{Length: source.State.MessageCount, Whole: ended}
	// Before a run has read the history, it counts its own part.
	if source.Turn == 0 && source.State.MessageCount == opening.State.MessageCount {
		out.Fork.Own = true
	}
	if says {
		out.Checkpoint, out.Node, out.Messages, err = sayInstead(definition, request, source.State.Response)
		return out, err
	}
	out.Fork.ReadsHistory = source.Node == BeforeModelRequest
	out.Node = string(source.Node)
	out.Checkpoint, err = goOnFrom(definition, request, source)
	return out, err
}

// goOnFrom is checkpoint 0 of a fork that goes on where the other one stood.
func goOnFrom(definition *agent.Definition, request execution.CreateRequest, source Checkpoint) ([]byte, error) {
	state := source.State.Clone()
	state.Usage, state.Depth = execution.Usage{}, 0 // nobody called it
	if state.Remote != nil {                        // the remote's task belongs to the other execution
		state.Remote, state.Status = nil, StatusRunning
	}
	if source.Turn == 0 { // the history is still to be read
		state.MessageCount = 0
	}
	if request.Model != "" { // what was learnt of the other model says nothing of this one
		state.ModelFailures, state.Prompt = 0, nil
	}
	if request.Instructions != "" {
		state.Instructions = ""
	}
	if state.Limits = NewRunState(definition, request).Limits; state.Limits == limitsOf(definition) {
		state.Limits = execution.Limits{} // the definition's
	}
	checkpoint := NewCheckpoint(0, source.Node, state)
	checkpoint.Metadata = source.Metadata
	return checkpoint.Encode()
}

// sayInstead is the opening of a fork that says something: a run of its own. Calls that the other one's model asked for
// last, and that the fork leaves unmade, are answered first.
func sayInstead(definition *agent.Definition, request execution.CreateRequest, response *Response) (
	checkpoint []byte, node string, messages [][]byte, err error,
) {
	checkpoint, node, said, err := Opening(definition, request)
	if err != nil || response == nil || len(response.ToolCalls) == 0 {
		return checkpoint, node, said, err
	}
	for _, call := range response.ToolCalls {
		message, err := json.Marshal(resultMessage(execution.ErrorResult(call, execution.ToolExecution, forkedText)))
		if err != nil {
			return nil, "", nil, fmt.Errorf("encode the result of %s: %w", call.CallID, err)
		}
		messages = append(messages, message)
	}
	opening, err := DecodeCheckpoint(checkpoint)
	if err != nil {
		return nil, "", nil, err
	}
	opening.State.MessageCount += len(messages)
	checkpoint, err = opening.Encode()
	return checkpoint, node, append(messages, said...), err
}

// unreadable is the error of a checkpoint that cannot be forked because it cannot be read: it is damaged, or of another release.
func unreadable(field string, err error) error {
	return execution.NewAPIError(execution.Conflict, "the checkpoint cannot be read by this release").In(field).Because(err)
}
