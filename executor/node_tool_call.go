package executor

import (
	"context"
	"fmt"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// pending is an outstanding call on its way through a step.
type pending struct {
	entry entry
	tool  local.Tool // nil: the agent has no such tool
	spec  local.ToolSpec
	// approved is the hash of the arguments that a person approved, reply what goes to the tool with the call.
	approved   string
	reply      *Reply
	credential execution.Credential // of a delegated call
	mark       bool                 // to be marked started before it is sent
	marked     bool                 // it was
	probe      bool                 // its outcome is unknown and its tool can be asked
	sent       bool                 // the tool was called

	grant *local.Grant    // of an agent that runs inside the call
	spent execution.Usage // by that agent

	// What became of it; exactly one is set, none when the step was interrupted.
	result    *execution.ToolResult
	child     *Child
	question  *Question
	unknown   bool
	transient error
}

// afterToolCall runs the batch's calls without receipt, concurrently, and writes each receipt as its call finishes.
func (m *machine) afterToolCall(ctx context.Context) (advance, error) {
	if a, refused := m.refused(); refused { // before a crash
		return a, nil
	}
	calls, err := m.outstanding(ctx)
	if err != nil {
		return advance{}, err
	}
	together, sequential := inOrder(calls)
	if err := m.delegate(ctx, together...); err != nil {
		return advance{}, err
	}
	if err := m.markStarted(ctx, together...); err != nil {
		return advance{}, err
	}
	if err := m.runCalls(ctx, together, sequential); err != nil {
		return advance{back: &handBack{unsent: unsent(calls)}}, err
	}
	if ctx.Err() != nil && interrupted(calls) {
		return advance{back: &handBack{unsent: unsent(calls)}}, context.Cause(ctx)
	}
	return m.settle(ctx, calls)
}

// outstanding sorts out the calls without receipt by the ledger rules: what was started under an earlier fence has an
// unknown outcome, what needs an approval and has none asks, everything else is sent (again).
func (m *machine) outstanding(ctx context.Context) ([]*pending, error) {
	if m.unread != nil {
		return nil, m.unread
	}
	if m.state.Batch == nil {
		return nil, fmt.Errorf("%w: %s without a batch", ErrCheckpoint, m.node)
	}
	entries, err := m.entries()
	if err != nil {
		return nil, err
	}
	m.askForTools(ctx)
	var out []*pending
	blocked := false // a sequential call is asked about: those behind it wait
	for i := range m.state.Batch.Calls {
		status := &m.state.Batch.Calls[i]
		p := m.pendingOf(status, entries[status.CallID])
		switch {
		case status.Status == CallAsking, status.Status == CallDelegated:
			blocked = blocked || p.spec.Sequential
		case status.Status != CallOutstanding || blocked && p.spec.Sequential:
		default:
			if _, done := m.received[status.CallID]; done {
				status.returned()
				continue
			}
			m.classify(ctx, p)
			out = append(out, p)
		}
	}
	return out, nil
}

func (m *machine) pendingOf(status *BatchCall, planned entry) *pending {
	p := &pending{
		entry: planned, tool: m.kit.Tool(planned.intent.Call.Name), approved: status.Approved, reply: status.Reply,
	}
	if p.tool != nil {
		p.spec = p.tool.Spec()
	}
	return p
}

// classify decides what may be done with a call.
func (m *machine) classify(ctx context.Context, p *pending) {
	call := p.entry.intent.Call
	earlier := p.entry.State == journal.Started && p.entry.StartedFence != m.fence
	switch {
	case p.tool == nil && earlier:
		p.unknown = true // it was sent when the tool was known
	case p.tool == nil:
		p.answer(execution.ErrorResult(call, execution.ToolNotFound, "there is no tool of this name: "+call.Name))
	case p.spec.Recovery == agent.ReadOnly || p.spec.Recovery == agent.Idempotent:
		m.checkArguments(p)
		m.checkApproval(ctx, p)
	case earlier && p.spec.Recovery == agent.Reconcile:
		p.probe = true
	case earlier:
		p.unknown = true
	default:
		m.checkArguments(p)
		m.checkApproval(ctx, p)
		p.mark = p.result == nil && p.question == nil
	}
}

// checkArguments answers a call that its tool would not understand.
func (m *machine) checkArguments(p *pending) {
	call := p.entry.intent.Call
	if err := m.fitsTool(p.spec, call.Arguments); err != nil {
		p.answer(execution.ErrorResult(call, execution.ToolInvalidArguments, "the arguments are not valid: "+err.Error()))
	}
}

// fitsTool checks arguments against what the tool takes; without a schema it takes any object.
func (m *machine) fitsTool(spec local.ToolSpec, arguments []byte) error {
	schema := spec.Parameters
	if len(schema) == 0 {
		schema = []byte(`{"type":"object"}`)
	}
	return m.schemas.fits(schema, arguments)
}

// markStarted writes the started marks of calls that are about to be sent together, the last thing before the first of
// them is.
func (m *machine) markStarted(ctx context.Context, calls ...*pending) error {
	var ids []execution.CallID
	for _, p := range calls {
		if p.mark {
			ids = append(ids, p.entry.CallID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if err := m.env.MarkStarted(ctx, ids); err != nil {
		return err
	}
	for _, p := range calls {
		p.marked = p.mark
	}
	return nil
}

// receive writes a receipt, whatever the result comes from, and takes it into the state.
func (m *machine) receive(ctx context.Context, call execution.ToolCall, result execution.ToolResult) error {
	return m.receiveFrom(ctx, call, result, execution.Usage{})
}

// receiveFrom is receive with the usage of an agent that has carried the call out.
func (m *machine) receiveFrom(
	ctx context.Context, call execution.ToolCall, result execution.ToolResult, spent execution.Usage,
) error {
	result, blob := fit(m.definition.Results, result)
	if m.state.Batch.call(call.CallID).Edited {
		result.Arguments = call.Arguments
	}
	usage := m.state.Usage.Add(spent)
	if !result.IsError {
		usage = usage.Add(execution.Usage{ToolCalls: 1})
	}
	stored, err := m.env.Receive(ctx, receipt{
		result: result, usage: usage, blob: blob,
		event: execution.ToolCompleted{CallID: call.CallID, Name: call.Name, Failed: result.IsError, Blob: result.Blob},
	})
	if err != nil {
		return err
	}
	m.state.Usage = usage
	m.received[call.CallID] = stored
	m.state.Batch.call(call.CallID).returned()
	return nil
}

func (p *pending) answer(result execution.ToolResult) {
	result = normalize(p.entry.intent.Call, result)
	p.result = &result
}

// interrupted reports whether a call came to nothing.
func interrupted(calls []*pending) bool {
	for _, p := range calls {
		if !p.settled() {
			return true
		}
	}
	return false
}
