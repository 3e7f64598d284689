package executor

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
)

// The rows of the reference contract for the executor, one subtest each.
func TestContractANode(t *testing.T) {
	t.Parallel()
	wire := []string{
		"run_start", "prepare_model_request", "before_model_request", "model_response", "tool_call", "tool_return",
		"validate_output", "run_complete", "run_failed",
	}
	require.Len(t, Nodes(), len(wire))
	for i, node := range Nodes() {
		data, err := json.Marshal(node)
		require.NoError(t, err)
		require.Equal(t, `"`+wire[i]+`"`, string(data))
		var back Node
		require.NoError(t, json.Unmarshal(data, &back))
		require.Equal(t, node, back)
	}
	var node Node
	require.ErrorIs(t, json.Unmarshal([]byte(`"graph_start"`), &node), ErrUnknownNode)
	_, err := json.Marshal(Node("graph_start"))
	require.ErrorContains(t, err, "unknown node")
}

func TestContractARunStatus(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"starting", "running", "waiting", "completed", "failed", "canceled"} {
		var status RunStatus
		require.NoError(t, json.Unmarshal([]byte(`"`+name+`"`), &status))
		require.Equal(t, RunStatus(name), status)
	}
	var status RunStatus
	require.ErrorIs(t, json.Unmarshal([]byte(`"paused"`), &status), ErrUnknownStatus)
}

func testState() RunState {
	return RunState{
		Status: StatusRunning, Turn: 3, Usage: execution.Usage{Requests: 4, InputTokens: 7}, MessageCount: 9,
		OutputRetriesUsed: 2, ToolRetriesUsed: map[string]int{"lookup": 1},
		Batch: &Batch{ID: "tool_batch_3", Calls: []BatchCall{
			{CallID: "call_2_0", Name: "lookup", Status: CallReturned},
			{CallID: "call_2_1", Name: "pay", Status: CallAsking, Question: &Question{Kind: execution.Approval}},
			{CallID: "call_2_2", Name: "ask", Status: CallAsking, Question: &Question{Kind: execution.Elicitation}},
			{CallID: "call_2_3", Name: "ask", Status: CallAsking, Question: &Question{Kind: execution.Elicitation}},
		}},
		Metadata: Metadata{"contextRevision": "r7", "environmentRef": 12},
	}
}

func TestContractACursorAndEvidence(t *testing.T) {
	t.Parallel()
	evidence := NewEvidence(ToolReturn, testState())
	require.Equal(t, 3, evidence.Cursor.ModelRequestAttempt, "the 0-based index of the next attempt is the turn")
	require.Equal(t, "tool_batch_3", evidence.Cursor.ToolCallBatchID)
	require.Equal(t, 2, evidence.Cursor.OutputValidationAttempt, "the real count, so the budget survives a task")
	require.Nil(t, evidence.Cursor.StreamCursor, "absent until it is attached")
	require.Equal(t, 9, evidence.Cursor.MessageCursor, "a count")
	require.Equal(t, ToolReturn, evidence.Node)
	require.Equal(t, StatusRunning, evidence.Status)
	require.Equal(t, 3, evidence.Turn)
	require.Equal(t, int64(4), evidence.Usage.Requests)
	require.Equal(t, "r7", evidence.ContextRevision)
	require.Empty(t, evidence.EnvironmentRef, "only strings of the metadata count")
	require.Equal(t, 1, evidence.PendingApprovalCount)
	require.Equal(t, 2, evidence.DeferredToolCount)

	state := testState()
	state.Batch = nil
	data, err := json.Marshal(NewEvidence(ValidateOutput, state))
	require.NoError(t, err)
	for _, absent := range []string{"toolCallBatchId", "streamCursor", "traceContext", "metadata", "environmentRef"} {
		require.NotContains(t, string(data), absent, "omitted when empty")
	}
}

func TestContractABuildersReturnCopies(t *testing.T) {
	t.Parallel()
	evidence := NewEvidence(ToolReturn, testState())
	metadata := Metadata{"a": "b"}
	with := evidence.WithStreamCursor(0).WithTraceContext(TraceContext{TraceID: "t"}).WithMetadata(metadata)
	metadata["a"] = "changed"
	require.Nil(t, evidence.Cursor.StreamCursor)
	require.True(t, evidence.TraceContext.IsZero())
	require.Empty(t, evidence.Metadata)
	require.Equal(t, execution.Sequence(0), *with.Cursor.StreamCursor, "0 is a value")
	require.Equal(t, "t", with.TraceContext.TraceID)
	require.Equal(t, "b", with.Metadata["a"])

	checkpoint := NewCheckpoint(5, ToolReturn, testState())
	other := checkpoint.WithStreamCursor(8).WithMetadata(Metadata{"k": 1.0})
	require.Nil(t, checkpoint.Resume.Cursor.StreamCursor)
	require.Empty(t, checkpoint.Metadata)
	require.Equal(t, execution.Sequence(8), *other.Resume.Cursor.StreamCursor)
	require.Equal(t, 1.0, other.Metadata["k"])
}

func TestContractACheckpoint(t *testing.T) {
	t.Parallel()
	state := testState()
	checkpoint := NewCheckpoint(5, ToolReturn, state)
	require.Equal(t, checkpoint.Node, checkpoint.Resume.Node)
	require.Equal(t, checkpoint.Turn, checkpoint.Resume.Turn)

	state.Batch.Calls[0].Status = CallOutstanding
	state.Batch.Calls[1].Question.Prompt = "changed"
	state.ToolRetriesUsed["lookup"] = 9
	state.Metadata["contextRevision"] = "changed"
	require.Equal(t, testState(), checkpoint.State, "the state is copied in full")

	data, err := checkpoint.Encode()
	require.NoError(t, err)
	require.NotContains(t, string(data), "metadata\":{}")
	require.True(t, strings.HasPrefix(string(data), `{"v":2,`))
	back, err := DecodeCheckpoint(data)
	require.NoError(t, err)
	again, err := back.Encode()
	require.NoError(t, err)
	require.Equal(t, string(data), string(again))

	named := checkpoint
	named.ExecutionID, named.ConversationID = "exec_1", "conv_1"
	same, err := named.Encode()
	require.NoError(t, err)
	require.Equal(t, string(data), string(same), "ids are not stored: a copy for another execution is the same bytes")
}

func TestContractACheckpointRefusesContradictions(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Checkpoint){
		"another version":         func(c *Checkpoint) { c.V = 3 },
		"evidence of other node":  func(c *Checkpoint) { c.Resume.Node = RunStart },
		"evidence of other turn":  func(c *Checkpoint) { c.Resume.Turn = 1 },
		"evidence of other turns": func(c *Checkpoint) { c.Turn = 1 },
	} {
		checkpoint := NewCheckpoint(5, ToolReturn, testState())
		change(&checkpoint)
		data, err := checkpoint.Encode()
		require.NoError(t, err)
		_, err = DecodeCheckpoint(data)
		require.ErrorIs(t, err, ErrCheckpoint, name)
	}
	_, err := DecodeCheckpoint([]byte(`{"v":1,"node":"graph_start"}`))
	require.ErrorIs(t, err, ErrCheckpoint)
	require.ErrorIs(t, err, ErrUnknownNode)
}

func TestContractADecision(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		decision Decision
		wire     string
	}{
		{Continue(), `{"kind":"continue"}`},
		{Suspend("review"), `{"kind":"suspend","reason":"review"}`},
		{Suspend(""), `{"kind":"suspend","reason":""}`},
	} {
		data, err := json.Marshal(c.decision)
		require.NoError(t, err)
		require.Equal(t, c.wire, string(data))
		var back Decision
		require.NoError(t, json.Unmarshal(data, &back))
		require.Equal(t, c.decision, back)
	}
	for _, wire := range []string{`{"kind":"suspend"}`, `{"kind":"abort"}`, `{}`} {
		var decision Decision
		require.ErrorIs(t, json.Unmarshal([]byte(wire), &decision), ErrUnknownDecision, wire)
	}
}

type hookFunc func(ctx context.Context, c Checkpoint) (Decision, error)

func (f hookFunc) Checkpoint(ctx context.Context, c Checkpoint) (Decision, error) { return f(ctx, c) }

func TestContractAExecutor(t *testing.T) {
	t.Parallel()
	decision, err := DirectExecutor{}.Checkpoint(t.Context(), Checkpoint{})
	require.NoError(t, err)
	require.Equal(t, Continue(), decision)

	disk := errors.New("disk full")
	_, err = consult(t.Context(), hookFunc(func(context.Context, Checkpoint) (Decision, error) {
		return Continue(), disk
	}), Checkpoint{})
	require.EqualError(t, err, "executor failed: disk full")
	require.ErrorIs(t, err, disk)
}

func TestContractAStateCarriedByTaskWorkers(t *testing.T) {
	t.Parallel()
	state := NewRunState(&agent.Definition{Limits: execution.Limits{MaxToolCalls: 3}}, execution.CreateRequest{})
	require.Equal(t, StatusStarting, state.Status)
	require.Equal(t, execution.Limits{MaxToolCalls: 3, MaxTurns: execution.DefaultMaxTurns}, state.Limits)

	full := testState()
	full.ModelErrorRetriesUsed, full.Limits, full.InvocationID = 1, state.Limits, "inv_4"
	full.Response = &Response{Text: "x", ToolCalls: []execution.ToolCall{{CallID: "call_1_0", Arguments: []byte(`{}`)}}}
	full.Batch.Asked = &Asked{RequestID: "req_4_1", Calls: []execution.CallID{"call_2_1"}}
	data, err := NewCheckpoint(4, ToolReturn, full).Encode()
	require.NoError(t, err)
	back, err := DecodeCheckpoint(data)
	require.NoError(t, err)
	full.Metadata["environmentRef"] = 12.0 // JSON has one kind of number
	require.Equal(t, full, back.State, "everything a task needs survives the store")
	require.Equal(t, full, full.Clone())
}

func TestOpening(t *testing.T) {
	t.Parallel()
	request := execution.CreateRequest{Input: execution.Input{Type: execution.UserMessage, Text: "Oslo"}, Metadata: map[string]string{
		"order": "7", "contextRevision": "r1",
	}}
	data, node, messages, err := Opening(&agent.Definition{Name: "demo"}, request)
	require.NoError(t, err)
	require.Equal(t, "run_start", node)
	require.Len(t, messages, 1)
	require.JSONEq(t, `{"role":"user","text":"Oslo"}`, string(messages[0]))
	checkpoint, err := DecodeCheckpoint(data)
	require.NoError(t, err)
	require.Equal(t, execution.Step(0), checkpoint.Step)
	require.Equal(t, RunStart, checkpoint.Node)
	require.Equal(t, StatusRunning, checkpoint.State.Status)
	require.Equal(t, 1, checkpoint.Resume.Cursor.MessageCursor)
	require.Equal(t, "r1", checkpoint.Resume.ContextRevision)
	require.NotContains(t, string(data), "order")
}
