package executor

import (
	"errors"
	"fmt"
)

// Node names a boundary of the agent loop.
type Node string

// The nine nodes.
const (
	RunStart            Node = "run_start"             // the run is initialized
	PrepareModelRequest Node = "prepare_model_request" // the next model request is about to be prepared
	BeforeModelRequest  Node = "before_model_request"  // the model request is about to be sent
	ModelResponse       Node = "model_response"        // a model response was applied to the state
	ToolCall            Node = "tool_call"             // a batch of tool calls is about to run
	ToolReturn          Node = "tool_return"           // the batch has run; its open questions may still be asked
	ValidateOutput      Node = "validate_output"       // final output is about to be validated
	RunComplete         Node = "run_complete"          // terminal
	RunFailed           Node = "run_failed"            // terminal
)

// ErrUnknownNode reports a name that is none of the nine.
var ErrUnknownNode = errors.New("unknown node")

// Nodes lists the nine nodes in the order of the loop.
func Nodes() []Node {
	return []Node{
		RunStart, PrepareModelRequest, BeforeModelRequest, ModelResponse, ToolCall, ToolReturn, ValidateOutput,
		RunComplete, RunFailed,
	}
}

// Terminal reports whether nothing follows the node.
func (n Node) Terminal() bool { return n == RunComplete || n == RunFailed }

// Valid reports whether n is one of Nodes.
func (n Node) Valid() bool {
	for _, known := range Nodes() {
		if n == known {
			return true
		}
	}
	return false
}

// UnmarshalText accepts the nine wire names and nothing else.
func (n *Node) UnmarshalText(text []byte) error {
	if !Node(text).Valid() {
		return fmt.Errorf("%w %q", ErrUnknownNode, text)
	}
	*n = Node(text)
	return nil
}

// MarshalText refuses to write what UnmarshalText would not read.
func (n Node) MarshalText() ([]byte, error) {
	if !n.Valid() {
		return nil, fmt.Errorf("%w %q", ErrUnknownNode, string(n))
	}
	return []byte(n), nil
}
