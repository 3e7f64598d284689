package executor

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

const testID = execution.ID("exec_0001ARZ3NDEKTSV4RRFFQ69G5FAV")

// fakeModel answers as its function says.
type fakeModel func(ctx context.Context, request local.ModelRequest) (local.ModelResponse, error)

func (f fakeModel) Generate(ctx context.Context, request local.ModelRequest, _ local.Sink) (local.ModelResponse, error) {
	return f(ctx, request)
}

// fakeTool answers as its functions say.
type fakeTool struct {
	spec  local.ToolSpec
	call  func(ctx context.Context, call local.Invocation) (local.Answer, error)
	probe func(ctx context.Context, call local.Invocation) (local.ProbeResult, error)
}

func (f *fakeTool) Spec() local.ToolSpec { return f.spec }

func (f *fakeTool) Call(ctx context.Context, call local.Invocation, _ local.Sink) (local.Answer, error) {
	return f.call(ctx, call)
}

func (f *fakeTool) Probe(ctx context.Context, call local.Invocation) (local.ProbeResult, error) {
	return f.probe(ctx, call)
}

func says(text string) func(context.Context, local.Invocation) (local.Answer, error) {
	return func(_ context.Context, call local.Invocation) (local.Answer, error) {
		result := execution.TextResult(call.Call, text)
		return local.Answer{Result: &result}, nil
	}
}

func fails(err error) func(context.Context, local.Invocation) (local.Answer, error) {
	return func(context.Context, local.Invocation) (local.Answer, error) { return local.Answer{}, err }
}

func asks(question local.Question) func(context.Context, local.Invocation) (local.Answer, error) {
	return func(context.Context, local.Invocation) (local.Answer, error) {
		return local.Answer{Question: &question}, nil
	}
}

func tool(name string, recovery agent.Recovery, call func(context.Context, local.Invocation) (local.Answer, error),
) *fakeTool {
	return &fakeTool{spec: local.ToolSpec{Name: name, Recovery: recovery, MaxRetries: 1}, call: call}
}

// fakeEnv is an environment whose ledger is a list of what happened.
type fakeEnv struct {
	credential    execution.Credential
	credentialErr error

	mu       sync.Mutex
	now      int64
	marked   []execution.CallID
	receipts []receipt
	sure     error
	record   error
	parked   map[string]time.Duration // by lane
	refused  []string                 // lanes
}

func (e *fakeEnv) Sure(ctx context.Context) error {
	if e.sure != nil {
		return e.sure
	}
	return ctx.Err()
}

func (e *fakeEnv) Generate(ctx context.Context, model local.Model, request local.ModelRequest) (
	local.ModelResponse, error,
) {
	return generate(ctx, model, request, nowhere{})
}

func (e *fakeEnv) Lead(ctx context.Context, run backend.RootRun, _ string) (backend.Led, error) {
	lifecycle, err := newLifecycle(quiet())
	if err != nil {
		return backend.Led{}, err
	}
	return lead(ctx, lifecycle, run)
}

func (e *fakeEnv) Call(ctx context.Context, tool local.Tool, call local.Invocation) (local.Answer, error) {
	return tool.Call(ctx, call, nowhere{})
}

func (e *fakeEnv) Probe(ctx context.Context, prober local.Prober, call local.Invocation) (local.ProbeResult, error) {
	return prober.Probe(ctx, call)
}

func (e *fakeEnv) Credential(context.Context, execution.Credential) (execution.Credential, error) {
	return e.credential, e.credentialErr
}

func (e *fakeEnv) MarkStarted(_ context.Context, calls []execution.CallID) error {
	e.marked = append(e.marked, calls...)
	return e.record
}

func (e *fakeEnv) Receive(_ context.Context, r receipt) (execution.ToolResult, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.receipts = append(e.receipts, r)
	return r.result, e.record
}

func (e *fakeEnv) Admit(_ context.Context, lane string) (time.Duration, error) {
	return e.parked[lane], nil
}

func (e *fakeEnv) Refused(lane string, _ error) { e.refused = append(e.refused, lane) }

func (e *fakeEnv) NowMs() int64                             { return e.now }
func (e *fakeEnv) Jitter(limit time.Duration) time.Duration { return limit }

// at is a situation at a boundary.
func at(node Node, change func(*situation)) situation {
	definition := &agent.Definition{Name: "demo", OutputRetries: 1}
	state := NewRunState(definition, execution.CreateRequest{})
	state.Status, state.MessageCount = StatusRunning, 1
	s := situation{
		id: testID, invocation: "1-n", step: 10, node: node, state: state, definition: definition,
		kit: &local.Kit{Model: fakeModel(nil)}, fence: "2-now",
		messages: []execution.Message{{Role: execution.RoleUser, Text: "hello"}},
	}
	if change != nil {
		change(&s)
	}
	return s
}

// do runs one step in a fresh environment.
func do(t *testing.T, s situation) (advance, *fakeEnv) {
	t.Helper()
	env := &fakeEnv{now: 1000}
	before, err := json.Marshal(s.state)
	require.NoError(t, err)
	a, err := newMachine(s, env).run(t.Context())
	require.NoError(t, err)
	after, err := json.Marshal(s.state)
	require.NoError(t, err)
	require.Equal(t, string(before), string(after), "a step does not write to the state it starts from")
	if a.back == nil {
		require.True(t, a.node.Valid())
	}
	return a, env
}

// planned is the ledger's entry of a call.
func planned(t *testing.T, call execution.ToolCall, state journal.LedgerState, fence journal.Fence) journal.LedgerEntry {
	t.Helper()
	plan, err := newPlan(testID, call)
	require.NoError(t, err)
	return journal.LedgerEntry{CallID: call.CallID, State: state, StartedFence: fence, Intent: plan.Intent}
}

func received(t *testing.T, call execution.ToolCall, result execution.ToolResult) journal.LedgerEntry {
	t.Helper()
	entry := planned(t, call, journal.Done, "")
	data, err := encodeReceipt(result)
	require.NoError(t, err)
	entry.Receipt = data
	return entry
}

func callOf(index int, name string) execution.ToolCall {
	return execution.ToolCall{CallID: execution.NewCallID(0, index), Name: name, Arguments: json.RawMessage(`{"a":1}`)}
}

// batchOf is a batch of outstanding calls.
func batchOf(calls ...execution.ToolCall) *Batch {
	batch := &Batch{ID: "tool_batch_1"}
	for _, call := range calls {
		batch.Calls = append(batch.Calls, BatchCall{CallID: call.CallID, Name: call.Name, Status: CallOutstanding})
	}
	return batch
}

// inBatch is a situation at tool_call whose calls are planned, one for each tool.
func inBatch(t *testing.T, tools ...*fakeTool) situation {
	t.Helper()
	return at(ToolCall, func(s *situation) {
		var calls []execution.ToolCall
		for i, tool := range tools {
			call := callOf(i, tool.spec.Name)
			calls = append(calls, call)
			s.kit.Tools = append(s.kit.Tools, tool)
			s.ledger = append(s.ledger, planned(t, call, journal.Planned, ""))
		}
		s.state.Turn, s.state.Batch = 1, batchOf(calls...)
	})
}
