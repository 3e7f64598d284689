package execution_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

func TestAnEventOfALaterReleaseIsReadAndWrittenAgain(t *testing.T) {
	t.Parallel()
	text := `{"sequence":7,"occurredAtMs":5,"type":"tea_ready","cups":12345678901234567,"sort":{"b":1,"a":[]}}`
	event, err := execution.ReadEvent([]byte(text))
	require.NoError(t, err)
	require.EqualValues(t, 7, event.Sequence)
	require.EqualValues(t, 5, event.OccurredAtMs)
	require.EqualValues(t, "tea_ready", event.Payload.EventType())
	again, err := json.Marshal(event)
	require.NoError(t, err)
	require.Equal(t, text, string(again))

	bare := `{"sequence":7,"occurredAtMs":5,"type":"tea_ready"}`
	event, err = execution.ReadEvent([]byte(bare))
	require.NoError(t, err)
	again, err = json.Marshal(event)
	require.NoError(t, err)
	require.Equal(t, bare, string(again))

	known, err := execution.ReadEvent([]byte(`{"sequence":1,"occurredAtMs":5,"type":"execution_queued"}`))
	require.NoError(t, err)
	require.Equal(t, execution.Event{Sequence: 1, OccurredAtMs: 5, Payload: &execution.ExecutionQueued{}}, known)

	for _, text := range []string{`tea`, `{"type":7}`, `{"type":"tea","sequence":"x"}`, `[]`} {
		_, err := execution.ReadEvent([]byte(text))
		require.Error(t, err, text)
	}
}
