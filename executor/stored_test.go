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
	require.LessOrEqual(t, len(data), 250, "%s", data)
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
