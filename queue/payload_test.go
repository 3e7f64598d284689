package queue

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

func TestPayloadIsTheJSONOfItsTask(t *testing.T) {
	t.Parallel()
	for _, n := range []uint64{0, 7, math.MaxUint64} {
		task := execution.Task{Execution: execution.NewID(63), Step: execution.Step(n), Wake: execution.Wake(n), Queue: "default"}
		data, err := encodePayload(task)
		require.NoError(t, err)
		want, err := json.Marshal(payload{task.Execution, task.Step, task.Wake})
		require.NoError(t, err)
		require.Equal(t, string(want), string(data))
		require.LessOrEqual(t, len(data), maxPayload)
		back, err := decodePayload("default", data)
		require.NoError(t, err)
		require.Equal(t, task, back)
		var spaced any
		require.NoError(t, json.Unmarshal(data, &spaced))
		again, err := json.MarshalIndent(spaced, "", " ")
		require.NoError(t, err)
		back, err = decodePayload("default", again)
		if n < 1<<53 { // floats in between
			require.NoError(t, err)
			require.Equal(t, task, back, "another writer's JSON")
		}
	}
	for _, bad := range []string{
		``, `{}`, `{"executionId":"`, `{"executionId":"x","step":1,"wake":2}`,
		`{"executionId":"` + string(execution.NewID(1)) + `","step":-1,"wake":2}`,
		`{"executionId":"` + string(execution.NewID(1)) + `","step":1,"wake":2,"x":3`,
	} {
		_, err := decodePayload("default", []byte(bad))
		require.Error(t, err, bad)
	}
}
