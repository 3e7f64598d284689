package backend_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/backend"
)

func TestContractB_WaitingReason(t *testing.T) {
	t.Parallel()
	t.Run("waiting_reason_from_backend_status", func(t *testing.T) {
		t.Parallel()
		for status, want := range map[string]backend.WaitingReason{
			"input_required":      "user_input",
			"user_input_required": "user_input",
			"auth_required":       "tool_permission",
			"suspended":           "tool_permission",
			"awaiting_tasks":      "background_tasks",
			"rate_limit":          "rate_limit",
			"manual_pause":        "manual_pause",
			"anything else":       "external_event",
			"":                    "external_event",
		} {
			require.Equal(t, want, backend.WaitingReasonOf(&status), status)
		}
		require.Equal(t, backend.WaitingReason("external_event"), backend.WaitingReasonOf(nil))
	})
}

func TestContractB_Record(t *testing.T) {
	t.Parallel()
	t.Run("persist record", func(t *testing.T) {
		t.Parallel()
		s := newScene().answers(completed("hi"), nil)
		_, err := s.lead(t)
		require.NoError(t, err)
		natural := backend.TerminationReason{Kind: backend.NaturalEnd}
		require.Equal(t, &backend.RunRecord{
			RunID: "run", ConversationID: "conv", AgentID: "far", ParentRunID: "parent",
			Input:  &backend.RunInput{ConversationID: "conv", Range: &backend.MessageRange{From: 1, To: 2}},
			Output: &backend.RunProduct{ConversationID: "conv", Range: &backend.MessageRange{From: 3, To: 3}},
			Status: backend.DurableDone, Termination: &natural, FinalOutput: ptr("hi"),
			RunTrace:  backend.RunTrace{TaskID: "run.3.1", SessionID: "s", TransportRequestID: "t"},
			Outcome:   &backend.RunOutcome{Termination: natural, FinalOutput: ptr("hi")},
			CreatedAt: golden - 5, StartedAt: ptr[int64](golden - 5), FinishedAt: ptr[int64](golden), UpdatedAt: golden,
			Steps: 1,
			State: s.record.State,
		}, s.record)

		s = newScene().answers(backend.RunResult{}, backend.RemoteError(`a "quoted" text`))
		s.record = &backend.RunRecord{
			Request: json.RawMessage(`{"a":1}`), CreatedAt: 3, StartedAt: ptr[int64](4),
			Input:  &backend.RunInput{Range: &backend.MessageRange{From: 1, To: 1}},
			Output: &backend.RunProduct{MessageIDs: []string{"kept"}},
		}
		_, err = s.lead(t)
		require.NoError(t, err)
		require.JSONEq(t, `{"a":1}`, string(s.record.Request), "kept from before")
		require.Equal(t, uint64(1), s.record.Input.Range.To, "kept from before")
		require.Equal(t, []string{"kept"}, s.record.Output.MessageIDs, "nothing new was produced")
		require.Equal(t, int64(3), s.record.CreatedAt)
		require.Equal(t, int64(4), *s.record.StartedAt)
		require.JSONEq(t, `{"message":"a \"quoted\" text"}`, string(s.record.ErrorPayload))
		require.Nil(t, s.record.FinalOutput, "absent when it is empty")
		require.Nil(t, s.record.Waiting)

		s = newScene().answers(backend.RunResult{Status: backend.WaitingInputStatus(nil)}, nil)
		_, err = s.lead(t)
		require.NoError(t, err)
		require.Nil(t, s.record.FinishedAt, "only when it is done")
		require.Equal(t, &backend.WaitingState{
			Reason: "user_input", TicketIDs: []string{}, Tickets: []backend.WaitingTicket{}, SinceTaskID: "run.3.1",
			Message: ptr("input_required"),
		}, s.record.Waiting)
		require.True(t, s.record.Resumable())
	})
}

func TestContractB_Outcome(t *testing.T) {
	t.Parallel()
	t.Run("outcome", func(t *testing.T) {
		t.Parallel()
		for _, c := range statusCases() {
			s := newScene().answers(backend.RunResult{Status: c.status, Termination: c.termination}, nil)
			_, err := s.lead(t)
			require.NoError(t, err)
			require.Equal(t, c.durable == backend.DurableDone, s.record.Outcome != nil, c.row)
			require.Equal(t, c.durable == backend.DurableWaiting, s.record.Waiting != nil, c.row)
			require.NotNil(t, s.record.Termination, c.row)
		}
	})
}

func TestEncodeEvent(t *testing.T) {
	t.Parallel()
	for want, event := range map[string]backend.Event{
		`{"type":"step_end"}`:                                      backend.StepEnd{},
		`{"type":"step_start","messageId":"m"}`:                    backend.StepStart{MessageID: "m"},
		`{"type":"text_delta","delta":"hi"}`:                       backend.TextDelta{Delta: "hi"},
		`{"type":"inference_complete","model":"m","durationMs":3}`: backend.InferenceComplete{Model: "m", DurationMs: 3},
		`{"type":"run_start","conversationId":"c","runId":"r","identity":{"conversationId":"","runId":"","agentId":"a"}}`: backend.RunStart{
			ConversationID: "c", RunID: "r", Identity: backend.RunIdentity{AgentID: "a"},
		},
		`{"type":"run_finish","conversationId":"c","runId":"r","identity":{"conversationId":"","runId":"","agentId":""},` +
			`"result":{"response":""},"termination":{"type":"stopped","detail":"timeout"}}`: backend.RunFinish{
			ConversationID: "c", RunID: "r", Result: json.RawMessage(`{"response":""}`),
			Termination: backend.TerminationReason{Kind: backend.Stopped, Detail: "timeout"},
		},
	} {
		encoded, err := backend.EncodeEvent(event)
		require.NoError(t, err)
		require.Equal(t, want, string(encoded))
	}
}
