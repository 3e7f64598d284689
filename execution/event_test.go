package execution_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

// samples has one event of every type. Their golden files are never edited: a change of shape is a new type.
func samples() []execution.Payload {
	in, out := int64(12), int64(5)
	return []execution.Payload{
		&execution.ExecutionQueued{},
		&execution.ExecutionStarted{},
		&execution.ModelStarted{Turn: 0, InvocationID: "inv_0"},
		&execution.ModelCompleted{Turn: 0, InvocationID: "inv_0", FinishReason: "stop", InputTokens: &in, OutputTokens: &out},
		&execution.ToolStarted{CallID: "call_0_1", Name: "lookup"},
		&execution.ToolCompleted{CallID: "call_0_1", Name: "lookup", Failed: true},
		&execution.InteractionRequired{RequestID: "req_5_0", Kind: execution.Elicitation, Prompt: `Book "it"?`},
		&execution.InteractionReceived{RequestID: "req_5_0"},
		&execution.Warning{Code: execution.WarningReclaimed, Message: "worker w1 lost its claim"},
		&execution.ExecutionSuspended{Reason: execution.ReasonPaused, Detail: "by an operator"},
		&execution.ExecutionResumed{},
		&execution.CancelRequested{},
		&execution.RetryScheduled{Node: "before_model_request", Attempt: 2, AtMs: 1764420000500, Code: "overloaded"},
		&execution.ExecutionCompleted{Answer: "Booked."},
		&execution.ExecutionFailed{Code: execution.CodeModelError, Message: "the model refused"},
		&execution.ExecutionCanceled{},
		&execution.UnreadableEvent{},
	}
}

func TestEveryEventHasItsGoldenForm(t *testing.T) {
	t.Parallel()
	for i, payload := range samples() {
		t.Run(string(payload.EventType()), func(t *testing.T) {
			t.Parallel()
			event := execution.Event{Sequence: execution.Sequence(i + 1), OccurredAtMs: 1764420000000, Payload: payload}
			got, err := json.Marshal(event)
			require.NoError(t, err)
			golden := filepath.Join("testdata", string(payload.EventType())+".json")
			want, err := os.ReadFile(golden)
			require.NoError(t, err, "got %s", got)
			require.JSONEq(t, string(want), string(got))

			var back execution.Event
			require.NoError(t, json.Unmarshal(want, &back))
			require.Equal(t, event, back)
		})
	}
}

func TestEveryGoldenEventIsASample(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	require.Len(t, files, len(samples()))
}

func TestEveryTypeOfEventIsListed(t *testing.T) {
	t.Parallel()
	var types []execution.EventType
	for _, payload := range samples() {
		types = append(types, payload.EventType())
	}
	require.ElementsMatch(t, types, execution.EventTypes())
}

func TestAnUnknownEventIsNamed(t *testing.T) {
	t.Parallel()
	_, err := execution.DecodePayload([]byte(`{"type":"execution_teleported"}`))
	require.ErrorIs(t, err, execution.ErrUnknownEvent)
	require.ErrorContains(t, err, "execution_teleported")
}

func FuzzDecodePayload(f *testing.F) {
	for _, payload := range samples() {
		data, err := execution.EncodePayload(payload)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		payload, err := execution.DecodePayload(data)
		if err != nil {
			return
		}
		again, err := execution.EncodePayload(payload)
		require.NoError(t, err)
		back, err := execution.DecodePayload(again)
		require.NoError(t, err)
		require.Equal(t, payload, back)
	})
}
