package executor

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

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
	mark  bool // to be marked started before it is sent
	probe bool // its outcome is unknown and its tool can be asked
	sent  bool // the tool was called

	// What became of it; exactly one is set, none when the step was interrupted.
	result    *execution.ToolResult
	question  *Question
	unknown   bool
	transient error
}

// afterToolCall runs the batch's calls without receipt, concurrently, and writes each receipt as its call finishes.
func (m *machine) afterToolCall(ctx context.Context) (advance, error) {
	if a, refused := m.refused(); refused { // before a crash
		return a, nil
	}
	calls, err := m.outstanding()
	if err != nil {
		return advance{}, err
	}
	if err := m.markStarted(ctx, calls); err != nil {
		return advance{}, err
	}
	if err := m.runCalls(ctx, calls); err != nil {
		return advance{back: &handBack{unsent: unsent(calls)}}, err
	}
	if ctx.Err() != nil && interrupted(calls) {
		return advance{back: &handBack{unsent: unsent(calls)}}, context.Cause(ctx)
	}
	return m.settle(ctx, calls)
}

// outstanding sorts out the calls without receipt by the ledger rules: what was started under an earlier fence has an
// unknown outcome, everything else is sent (again).
func (m *machine) outstanding() ([]*pending, error) {
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
	var out []*pending
	for _, id := range m.state.Batch.in(CallOutstanding) {
		if _, done := m.received[id]; done {
			m.state.Batch.call(id).Status = CallReturned
			continue
		}
		p := &pending{entry: entries[id], tool: m.kit.Tool(entries[id].intent.Call.Name)}
		if p.tool != nil {
			p.spec = p.tool.Spec()
		}
		m.classify(p)
		out = append(out, p)
	}
	return out, nil
}

// classify decides what may be done with a call.
func (m *machine) classify(p *pending) {
	call := p.entry.intent.Call
	earlier := p.entry.State == journal.Started && p.entry.StartedFence != m.fence
	switch {
	case p.tool == nil && earlier:
		p.unknown = true // it was sent when the tool was known
	case p.tool == nil:
		p.answer(execution.ErrorResult(call, execution.ToolNotFound, "there is no tool of this name: "+call.Name))
	case p.spec.Recovery == agent.ReadOnly || p.spec.Recovery == agent.Idempotent:
		m.checkArguments(p)
	case earlier && p.spec.Recovery == agent.Reconcile:
		p.probe = true
	case earlier:
		p.unknown = true
	default:
		m.checkArguments(p)
		p.mark = p.result == nil
	}
}

// checkArguments answers a call that its tool would not understand.
func (m *machine) checkArguments(p *pending) {
	call := p.entry.intent.Call
	schema := p.spec.Parameters
	if len(schema) == 0 {
		schema = []byte(`{"type":"object"}`)
	}
	if err := m.schemas.fits(schema, call.Arguments); err != nil {
		p.answer(execution.ErrorResult(call, execution.ToolInvalidArguments, "the arguments are not valid: "+err.Error()))
	}
}

// markStarted writes the started marks of the batch, the last thing before the first of its calls is sent.
func (m *machine) markStarted(ctx context.Context, calls []*pending) error {
	var ids []execution.CallID
	for _, p := range calls {
		if p.mark {
			ids = append(ids, p.entry.CallID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return m.env.MarkStarted(ctx, ids)
}

// maxConcurrentCalls bounds the calls of one batch that are in flight: a model that asks for thousands at once must not
// take the worker's connections and time from the executions beside it.
const maxConcurrentCalls = 64

// runCalls carries out every call, many at a time, and waits for all of them. It returns the first error of the store,
// after which no further call is sent; what happened to the calls is in them.
func (m *machine) runCalls(ctx context.Context, calls []*pending) error {
	var (
		wait    sync.WaitGroup
		failure error                    // guarded by turn
		failed  atomic.Bool              // failure is set
		turn    = make(chan struct{}, 1) // receipts are written one by one: each carries the usage after it
		slots   = make(chan struct{}, maxConcurrentCalls)
	)
	for _, p := range calls {
		slots <- struct{}{}
		if failed.Load() {
			break
		}
		wait.Go(func() {
			defer func() { <-slots }()
			m.carryOut(ctx, p)
			if p.result == nil {
				return
			}
			turn <- struct{}{}
			defer func() { <-turn }()
			if err := m.receive(ctx, p.entry.intent.Call, *p.result); err != nil && failure == nil {
				failure = err
				failed.Store(true)
			}
			p.result.Content = nil // the ledger has it: a large one is not to stay until the last call is back
		})
	}
	wait.Wait()
	return failure
}

// receive writes a receipt, whatever the result comes from, and takes it into the state.
func (m *machine) receive(ctx context.Context, call execution.ToolCall, result execution.ToolResult) error {
	result, blob := fit(m.definition.Results, result)
	usage := m.state.Usage
	if !result.IsError {
		usage = usage.Add(execution.Usage{ToolCalls: 1})
	}
	stored, err := m.env.Receive(ctx, receipt{
		result: result, usage: usage, blob: blob,
		event: execution.ToolCompleted{CallID: call.CallID, Name: call.Name, Failed: result.IsError},
	})
	if err != nil {
		return err
	}
	m.state.Usage = usage
	m.received[call.CallID] = stored
	status := m.state.Batch.call(call.CallID)
	status.Status, status.Question = CallReturned, nil
	return nil
}

func (p *pending) answer(result execution.ToolResult) {
	result = normalize(p.entry.intent.Call, result)
	p.result = &result
}

// interrupted reports whether a call came to nothing.
func interrupted(calls []*pending) bool {
	for _, p := range calls {
		if p.result == nil && p.question == nil && !p.unknown && p.transient == nil {
			return true
		}
	}
	return false
}
