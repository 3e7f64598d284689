package executor

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

func TestBoundaryShowsEvidenceAndNothingOfTheState(t *testing.T) {
	t.Parallel()
	state := RunState{
		Status: StatusRunning, Turn: 2, MessageCount: 5, Instructions: "secret instructions",
		Usage:    execution.Usage{Requests: 2, InputTokens: 10, TotalTokens: 10},
		Response: &Response{Text: "what the model said"},
	}
	data, err := NewCheckpoint(4, ModelResponse, state).WithStreamCursor(9).Encode()
	require.NoError(t, err)
	seen, err := Boundary(data)
	require.NoError(t, err)
	require.Equal(t, execution.Step(4), seen.Step)
	require.Equal(t, "model_response", seen.Node)
	require.Equal(t, 2, seen.Turn)
	require.Equal(t, state.Usage, seen.Usage)
	require.True(t, seen.Forkable)
	require.NotContains(t, string(seen.Evidence), "secret")
	require.NotContains(t, string(seen.Evidence), "model said")
	var evidence Evidence
	require.NoError(t, json.Unmarshal(seen.Evidence, &evidence))
	require.Equal(t, 5, evidence.Cursor.MessageCursor)
	require.EqualValues(t, 9, *evidence.Cursor.StreamCursor)
}

func TestBoundaryReadsCheckpointsOfTheFirstVersion(t *testing.T) {
	t.Parallel()
	seen, err := Boundary([]byte(`{"v":1,"step":3,"node":"before_model_request","state":{"turn":1,"messageCount":2}}`))
	require.NoError(t, err)
	require.Equal(t, "before_model_request", seen.Node)
	require.Zero(t, seen.Usage)
	require.True(t, seen.Forkable)
	_, err = Boundary([]byte(`{"v":9}`))
	require.ErrorIs(t, err, ErrCheckpoint)
}
