package executor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// environment is all that a step does to the world.
type environment interface {
	// Sure fails when nothing may be sent any more: ctx has ended, or the claim can no longer be trusted, and then ctx
	// ends. It is asked right before every send.
	Sure(ctx context.Context) error
	// Generate sends a model request. A panic of the model is a transient error.
	Generate(ctx context.Context, model local.Model, request local.ModelRequest) (local.ModelResponse, error)
	// Lead makes a call of a remote agent's backend; opened is the invocation id of the request. A cancel and the deadline
	// reach the remote; whatever else ends ctx does not.
	Lead(ctx context.Context, run backend.RootRun, opened string) (backend.Led, error)
	// Call sends a tool call.
	Call(ctx context.Context, tool local.Tool, call local.Invocation) (local.Answer, error)
	// Probe asks what became of an earlier call.
	Probe(ctx context.Context, prober local.Prober, call local.Invocation) (local.ProbeResult, error)
	// Credential is a token of the execution's delegation: another one than refused, which a service did not take, unless there
	// is no other.
	Credential(ctx context.Context, refused execution.Credential) (execution.Credential, error)
	// MarkStarted marks calls in the ledger as about to be sent. It may outlive ctx.
	MarkStarted(ctx context.Context, calls []execution.CallID) error
	// Receive writes a call's receipt, its event and the usage after it, and returns the receipt that is stored: an
	// earlier one wins. It may outlive ctx: what has happened is to be known.
	Receive(ctx context.Context, receipt receipt) (execution.ToolResult, error)
	// Admit takes a place in a lane. It waits for one that is not far, and else says how long it is to be.
	Admit(ctx context.Context, lane string) (wait time.Duration, err error)
	// Refused tells that a request in the lane failed.
	Refused(lane string, err error)
	// NowMs is the store's clock.
	NowMs() int64
	// Jitter is a random duration above 0 and at most limit.
	Jitter(limit time.Duration) time.Duration
}

// receipt is a call's result on its way to the ledger.
type receipt struct {
	result execution.ToolResult
	event  execution.Payload
	usage  execution.Usage
	blob   *journal.Blob // the whole result when it is too large for the ledger
}

// situation is what a step starts from: the newest checkpoint and what its claim brought.
type situation struct {
	id           execution.ID
	conversation execution.ConversationID // may be empty
	invocation   string                   // unique per attempt at a step
	step         execution.Step
	node         Node
	state        RunState
	definition   *agent.Definition
	kit          *local.Kit
	remote       *backend.ResolvedAgent // of a remote agent, which has no kit; nil: the agent is local
	schemas      *schemas
	find         local.AgentFinder // of the agents that the run may call; nil: there are none
	maxDepth     int               // of calls of agents
	fence        journal.Fence
	ledger       []journal.LedgerEntry
	inbox        []journal.InboxEntry
	messages     []execution.Message // the history; only at before_model_request
	attempts     int                 // failed attempts at this step
	lost         int                 // claims of this step that ran out and whose requests nobody has charged
	deadlineAtMs int64               // 0: none
}

// advance is what a step came to: the boundary to commit and what belongs to it or, with back set, a claim that is handed
// back without advancing.
type advance struct {
	node     Node
	state    RunState
	messages []execution.Message
	plan     []journal.Plan
	events   []execution.Payload
	consumed []execution.RequestID
	then     journal.Then
	cleanup  *[]byte         // see journal.Commit
	last     []backend.Event // of a remote run, to be emitted when the boundary is written
	back     *handBack
}

// handBack says how a claim is handed back. With neither retry nor suspension the step is runnable at once.
type handBack struct {
	retry      *journal.Retry
	suspension *execution.Suspension
	unsent     []execution.CallID
	// left: the tasks that follow are not enqueued. The hand-off entry of the row has somebody called when its grace has passed.
	left bool
}

// machine does one step.
type machine struct {
	situation
	env      environment
	received map[execution.CallID]execution.ToolResult // the batch's receipts
	unread   error                                     // a receipt that could not be read
	boundBy  string                                    // the limit that bounds the answer to the request at hand
	// grants are the limits of agents that were given them in this step and have no receipt yet, by their calls: zero for
	// those that were refused.
	grants map[execution.CallID]execution.Limits
}

// newMachine prepares a step; the situation's state is not written to.
func newMachine(s situation, env environment) *machine {
	s.state = s.state.Clone()
	m := &machine{situation: s, env: env, grants: map[execution.CallID]execution.Limits{}}
	m.unread = m.readReceipts()
	return m
}

// run does the work after the situation's boundary. An error is the environment's (the store, or the cause that ended
// ctx); the advance then carries only the state, for its usage.
func (m *machine) run(ctx context.Context) (advance, error) {
	if m.pastDeadline() {
		return m.fail(execution.CodeDeadlineExceeded, "the deadline has passed"), nil
	}
	a, err := m.work(ctx)
	if errors.Is(err, ErrDeadline) {
		return m.fail(execution.CodeDeadlineExceeded, "the deadline has passed"), nil
	}
	if err != nil {
		a.state = m.state
	}
	return a, err
}

func (m *machine) work(ctx context.Context) (advance, error) {
	switch m.node {
	case RunStart:
		return m.afterRunStart(), nil
	case PrepareModelRequest:
		return m.afterPrepareModelRequest(), nil
	case BeforeModelRequest:
		if m.remote != nil {
			return m.afterBeforeRemote(ctx)
		}
		return m.afterBeforeModelRequest(ctx)
	case ModelResponse:
		return m.afterModelResponse()
	case ToolCall:
		return m.afterToolCall(ctx)
	case ToolReturn:
		return m.afterToolReturn(ctx)
	case ValidateOutput:
		return m.afterValidateOutput(), nil
	case RunComplete, RunFailed:
	}
	return advance{}, fmt.Errorf("%w: nothing follows %q", ErrUnknownNode, m.node)
}

// next commits the boundary and goes on.
func (m *machine) next(node Node, messages ...execution.Message) advance {
	m.state.MessageCount += len(messages)
	return advance{
		node: node, state: m.state, messages: m.stamp(messages), then: journal.Then{Kind: journal.ThenContinue},
	}
}

// nextTurn is next to prepare_model_request, the top of the loop, where turns are counted.
func (m *machine) nextTurn(messages ...execution.Message) advance {
	if over := m.turnsUsedUp(); over != "" {
		return m.limit(over, messages)
	}
	return m.next(PrepareModelRequest, messages...)
}

// fail ends the run. Results of a batch that was under way go into the history, so that they are not lost.
func (m *machine) fail(code, message string) advance {
	return m.failWith(code, message, m.danglingResults())
}

func (m *machine) failWith(code, message string, messages []execution.Message) advance {
	failure := execution.Failure{Code: code, Message: message}
	m.state.Status, m.state.Failure = StatusFailed, &failure
	m.state.Batch, m.state.Response = nil, nil
	a := m.next(RunFailed, messages...)
	a.then = journal.Then{Kind: journal.ThenEnd, Failure: &failure}
	return a
}

// complete ends the run with its answer.
func (m *machine) complete(outcome execution.Outcome, messages ...execution.Message) advance {
	m.state.Status, m.state.Output, m.state.Response = StatusCompleted, &outcome, nil
	a := m.next(RunComplete, messages...)
	a.then = journal.Then{Kind: journal.ThenEnd, Outcome: &outcome}
	return a
}

// stamp says which boundary adds the messages.
func (m *machine) stamp(messages []execution.Message) []execution.Message {
	messages = slices.Clone(messages)
	for i := range messages {
		step := m.step + 1
		messages[i].Execution, messages[i].Step = m.id, &step
	}
	return messages
}

func (m *machine) pastDeadline() bool {
	return m.deadlineAtMs > 0 && m.env.NowMs() >= m.deadlineAtMs
}
