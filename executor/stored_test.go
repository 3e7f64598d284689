package executor

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
)

// Without its text a checkpoint is small, whatever the run has spent and however long it has gone on.
func TestCheckpointsAreSmall(t *testing.T) {
	t.Parallel()
	state := NewRunState(&agent.Definition{}, execution.CreateRequest{})
	state.Status, state.Turn, state.MessageCount, state.InvocationID = StatusRunning, 4711, 12345, "inv_23456"
	state.Usage = execution.Usage{
		Requests: 4711, InputTokens: 9876543, OutputTokens: 654321, TotalTokens: 10530864, ToolCalls: 4700,
	}
	state.Limits = execution.Limits{}
	data, err := NewCheckpoint(23456, PrepareModelRequest, state).WithStreamCursor(34567).Encode()
	require.NoError(t, err)
	require.LessOrEqual(t, len(data), 130, "%s", data)
}

// The definition's limits are in the definition; others are in the checkpoint.
func TestLimitsOfTheDefinitionAreNotStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var hooked []Checkpoint
		var lengths []int
		definition := &agent.Definition{Limits: execution.Limits{MaxToolCalls: 7}}
		w := newWorld(t, definition, twoTurns(&lengths), func(c *Config) {
			c.Hook = hookFunc(func(_ context.Context, c Checkpoint) (Decision, error) {
				hooked = append(hooked, c)
				return Continue(), nil
			})
		})
		require.Equal(t, execution.Completed, w.drive().State)
		require.Len(t, hooked, int(w.row().Step)+1)
		for _, checkpoint := range hooked {
			require.Equal(t, limitsOf(definition), checkpoint.State.Limits)
		}
		for _, checkpoint := range w.checkpoints() {
			require.Zero(t, checkpoint.State.Limits)
			require.Equal(t, checkpoint.Node, checkpoint.Resume.Node, "the evidence is whole")
			require.Equal(t, checkpoint.State.Usage, checkpoint.Resume.Usage)
		}
	})
	state := testState()
	state.Limits.MaxTurns = 3
	data, err := NewCheckpoint(4, ToolReturn, state).Encode()
	require.NoError(t, err)
	back, err := DecodeCheckpoint(data)
	require.NoError(t, err)
	require.Equal(t, int64(3), back.State.Limits.MaxTurns)
}

func TestEvidenceOfItsOwnIsStored(t *testing.T) {
	t.Parallel()
	c := NewCheckpoint(4, ToolReturn, testState())
	c.Resume = c.Resume.WithTraceContext(TraceContext{TraceID: "t"}).WithMetadata(Metadata{"a": "b"}).WithStreamCursor(0)
	data, err := c.Encode()
	require.NoError(t, err)
	back, err := DecodeCheckpoint(data)
	require.NoError(t, err)
	require.Equal(t, c.Resume, back.Resume)
}

func TestSchemasAreCompiledOnce(t *testing.T) {
	t.Parallel()
	kept := newSchemas()
	schema := json.RawMessage(`{"type":"object","required":["city"]}`)
	require.NoError(t, kept.fits(schema, []byte(`{"city":"Oslo"}`)))
	require.ErrorContains(t, kept.fits(schema, []byte(`{}`)), "does not fit")
	one, err := kept.get(schema)
	require.NoError(t, err)
	two, err := kept.get(append(json.RawMessage{}, schema...))
	require.NoError(t, err)
	require.Same(t, one, two)
	require.ErrorContains(t, kept.fits(json.RawMessage(`{`), []byte(`1`)), "schema")
}

// What a release before this one wrote is read as ever.
func TestCheckpointsOfTheFirstVersionAreRead(t *testing.T) {
	t.Parallel()
	stream := execution.Sequence(4)
	for stored, want := range map[string]Checkpoint{
		`{"v":1,"step":0,"node":"run_start","state":{"messageCount":1}}`: NewCheckpoint(0, RunStart,
			RunState{Status: StatusRunning, MessageCount: 1}),
		`{"v":1,"step":4,"node":"validate_output","stream":4,"state":{"turn":1,"usage":{"requests":1,"totalTokens":7},` +
			`"limits":{"maxTurns":3},"messageCount":2,"invocationId":"inv_2","response":{"text":"Done.","finishReason":"stop"}}}`: NewCheckpoint(4, ValidateOutput, RunState{
			Status: StatusRunning, Turn: 1, Usage: execution.Usage{Requests: 1, TotalTokens: 7}, MessageCount: 2,
			Limits: execution.Limits{MaxTurns: 3}, InvocationID: "inv_2",
			Response: &Response{Text: "Done.", FinishReason: "stop"},
		}).WithStreamCursor(stream),
		`{"v":1,"step":5,"node":"run_complete","state":{"status":"completed","output":{"answer":"Done."}}}`: NewCheckpoint(5,
			RunComplete, RunState{Status: StatusCompleted, Output: &execution.Outcome{Answer: "Done."}}),
	} {
		back, err := DecodeCheckpoint([]byte(stored))
		require.NoError(t, err)
		require.Equal(t, want, back)
	}
}

func TestUsageIsStoredShort(t *testing.T) {
	t.Parallel()
	for text, usage := range map[string]execution.Usage{
		`[]`:                      {},
		`[1]`:                     {Requests: 1},
		`[1,2,0,0,0,3]`:           {Requests: 1, InputTokens: 2, TotalTokens: 3},
		`[0,0,0,0,0,0,0,9]`:       {CostMicros: 9},
		`[0,0,0,0,0,0,0,0,1]`:     {Partial: true},
		`[1,0,0,0,0,0,0,0,0,1]`:   {Requests: 1, LostRequests: 1},
		`[5,0,0,0,0,0,0,0,0,0,3]`: {Requests: 5, DelegatedRequests: 3},
		`[1,2,3,4,5,6,7,8,1]`: {
			Requests: 1, InputTokens: 2, CacheReadTokens: 3, CacheWriteTokens: 4, OutputTokens: 5, TotalTokens: 6, ToolCalls: 7,
			CostMicros: 8, Partial: true,
		},
	} {
		data, err := json.Marshal(storeUsage(usage))
		require.NoError(t, err)
		require.Equal(t, text, string(data))
		require.Equal(t, usage, storeUsage(usage).usage())
	}
}
