package local

import (
	"context"
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
)

// Kit is a definition made ready to run: its model and its tools.
type Kit struct {
	Model Model
	// Fallback are asked, in order, when Model fails for a reason that may pass.
	Fallback []Model
	Tools    []Tool // in the definition's order; names are unique. A ToolSet stands for its tools
}

// ModelAt is the model that is asked after so many failed attempts at one request, in the order of agent.Model.At.
func (k *Kit) ModelAt(failed int) Model {
	if n := failed % (len(k.Fallback) + 1); n > 0 {
		return k.Fallback[n-1]
	}
	return k.Model
}

// Tool finds a tool by name, also among those of a ToolSet; nil when there is none.
func (k *Kit) Tool(name string) Tool {
	for _, tool := range k.Tools {
		if set, ok := tool.(ToolSet); ok {
			if found := set.Find(name); found != nil {
				return found
			}
			continue
		}
		if tool.Spec().Name == name {
			return tool
		}
	}
	return nil
}

// Builder builds the kit of a definition, with secrets from the program's own environment. It is called once per
// definition hash and its kits are shared by executions.
type Builder interface {
	Build(ctx context.Context, definition *agent.Definition) (*Kit, error)
}

// Model answers requests.
type Model interface {
	// Generate sends one request and returns the response. Text deltas go to sink as they arrive. When ctx ends, the
	// request in flight is closed before Generate returns. Errors are *Error.
	Generate(ctx context.Context, request ModelRequest, sink Sink) (ModelResponse, error)
}

// Sink receives what is transient of a call. It never blocks for long and never fails.
type Sink interface {
	Frame(frame execution.Frame)
}

// ModelRequest is one request to a model.
type ModelRequest struct {
	// Attempt is the 0-based number of the request within the execution, failed ones counted.
	Attempt      int
	InvocationID string // unique per attempt; sent to providers that take one
	Opened       string // the invocation id of its model_started event, the same for each attempt
	Instructions string
	Messages     []execution.Message
	Tools        []ToolSpec
	OutputSchema json.RawMessage
	// MaxOutputTokens is the most that the execution's limits leave for the answer; 0: no bound. The definition's own
	// bound holds as well.
	MaxOutputTokens int64
}

// ModelResponse is what a model answered. Tool calls carry the provider's id; the executor mints the call id.
type ModelResponse struct {
	Text         string
	ToolCalls    []execution.ToolCall
	FinishReason string // stop, tool_calls, length, …
	// Usage is nil when the provider did not report any. A request that was cut off reports what it has used so far.
	Usage *execution.Usage
	// Provider goes back to the provider with the next request.
	Provider *execution.ProviderState
}

// ToolSpec is what the loop and the model must know of a tool.
type ToolSpec struct {
	Name        string
	Description string
	Parameters  json.RawMessage
	Timeout     time.Duration // 0: none
	Recovery    agent.Recovery
	OnUnknown   agent.OnUnknown
	MaxRetries  int
	// Approval says which calls a person must approve before they are sent.
	Approval agent.Approval
	// Sequential calls run one after the other, in the batch's order.
	Sequential bool
	// Delegated calls carry a token of the execution's delegation.
	Delegated bool
	// Delegate is set for a tool that runs an agent. The loop starts the durable ones itself, where executions can have
	// children; else it calls the tool, with a Grant.
	Delegate *Delegate
}

// Tool carries out calls.
type Tool interface {
	Spec() ToolSpec
	// Call carries out the call and returns its answer: a result or a question. A result that is the tool's own "no" is
	// a result marked as an error. An *Error says that there is no result: transient ones may be sent again, and an
	// unknown outcome must not be for unsafe tools.
	Call(ctx context.Context, call Invocation, sink Sink) (Answer, error)
}

// Prober is a tool that can say what became of a call.
type Prober interface {
	// Probe asks for the outcome of an earlier call with the same effect id. It has no effect of its own.
	Probe(ctx context.Context, call Invocation) (ProbeResult, error)
}

// Invocation is one call of a tool.
type Invocation struct {
	Execution execution.ID
	EffectID  string // the same however often the call is sent
	Call      execution.ToolCall
	Reply     *Reply // what a person answered to this call's question that was to be resumed
	Grant     *Grant // of a tool that runs an agent
	// Credential is a token of the execution's delegation, for a tool whose spec asks for one.
	Credential execution.Credential
	// Bearer gives another token when a service refuses that one; nil: there is none.
	Bearer Bearer
}

// Reply is a person's answer on its way back to the tool that asked.
type Reply struct {
	State    json.RawMessage // of the question
	Text     string
	Content  json.RawMessage
	Declined bool
}

// Answer is a result, or a question that must be answered first. Exactly one is set.
type Answer struct {
	Result   *execution.ToolResult
	Question *Question
	// Usage is what an agent has spent that ran inside the call. It counts also beside an error.
	Usage execution.Usage
}

// Question asks a person. The call's result is what the person answers.
type Question struct {
	Kind         execution.InteractionKind
	Prompt       string
	ExpiresAfter time.Duration // 0: never
	OnExpiry     execution.OnExpiry
	Schema       json.RawMessage // JSON Schema of the answer's content; nil: text
	// Resume sends the answer back to the tool: the call is carried out again with a Reply that brings State back. Else the
	// answer is the call's result.
	Resume bool
	State  json.RawMessage // opaque, small
}

// ProbeResult is what became of a call.
type ProbeResult struct {
	State  ProbeState
	Result *execution.ToolResult // when State is ProbeDone
}

// ProbeState is what a status probe found.
type ProbeState string

// The answers of a status probe.
const (
	ProbeDone    ProbeState = "done"    // it has happened, here is its result
	ProbeAbsent  ProbeState = "absent"  // it never happened: safe to send
	ProbePending ProbeState = "pending" // it is under way: ask again later
)
