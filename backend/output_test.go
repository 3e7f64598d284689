package backend_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/backend"
)

func TestContractB_RunOutput(t *testing.T) {
	t.Parallel()
	t.Run("BackendRunOutput", func(t *testing.T) {
		t.Parallel()
		for want, output := range map[string]backend.RunOutput{
			`{}`:            {},
			`{"text":""}`:   backend.OutputFromText(ptr("")),
			`{"raw":{}}`:    {Raw: json.RawMessage(`{}`)},
			`{"text":"hi"}`: {Text: ptr("hi"), Artifacts: []backend.Artifact{}},
		} {
			encoded, err := json.Marshal(output)
			require.NoError(t, err)
			require.Equal(t, want, string(encoded), "what is empty is left out")
			require.Equal(t, want == `{}`, output.IsZero())
		}
		require.Equal(t, "", *backend.OutputFromText(ptr("")).TextOr(ptr("fallback")), "an empty text is a text")
		require.Equal(t, "fallback", *backend.RunOutput{}.TextOr(ptr("fallback")))
		require.Nil(t, backend.RunOutput{}.TextOr(nil))
	})
}

func TestContractB_Artifact(t *testing.T) {
	t.Parallel()
	t.Run("BackendOutputArtifact", func(t *testing.T) {
		t.Parallel()
		encoded, err := json.Marshal(backend.Artifact{Content: json.RawMessage(`[1,"a"]`)})
		require.NoError(t, err)
		require.Equal(t, `{"content":[1,"a"]}`, string(encoded))
		var back backend.Artifact
		require.NoError(t, json.Unmarshal([]byte(`{"id":"1","name":"n","mediaType":"text/plain","content":null}`), &back))
		require.Equal(t, backend.Artifact{
			ID: ptr("1"), Name: ptr("n"), MediaType: ptr("text/plain"), Content: json.RawMessage(`null`),
		}, back)
		require.ErrorIs(t, json.Unmarshal([]byte(`{"id":"1"}`), &back), backend.ErrArtifactContent)
		require.ErrorContains(t, json.Unmarshal([]byte(`{"id":1}`), &back), "artifact")
	})
}

func TestContractB_AgentTool(t *testing.T) {
	t.Parallel()
	t.Run("AgentTool (delegation) [U]", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, "agent_run_helper", backend.AgentToolName("helper"))
		require.ErrorIs(t, backend.CheckPrompt(" \n"), backend.ErrBlankPrompt)
		require.NoError(t, backend.CheckPrompt("go"))
		for _, status := range []backend.RunStatus{
			backend.WaitingInputStatus(nil), backend.WaitingAuthStatus(nil), backend.SuspendedStatus(nil),
		} {
			answer := backend.AnswerOfDelegate("call_0_1", backend.RunResult{Status: status, RunID: "r7"})
			require.Equal(t, &backend.WaitingTicket{ID: "delegate_run:r7", Mode: "use_decision_as_tool_result"}, answer.Ticket)
			answer = backend.AnswerOfDelegate("call_0_1", backend.RunResult{Status: status})
			require.Equal(t, "delegate_tool:call_0_1", answer.Ticket.ID)
			require.False(t, answer.IsError)
		}
		for _, status := range []backend.RunStatus{
			backend.FailedStatus("boom"), backend.TimeoutStatus(), backend.CanceledStatus(),
		} {
			answer := backend.AnswerOfDelegate("call_0_1", backend.RunResult{Status: status, RunID: "r7"})
			require.Equal(t, backend.AgentToolAnswer{Text: "the agent's run ended: " + status.String(), IsError: true}, answer)
		}
		done := backend.RunResult{Status: backend.CompletedStatus(), Response: ptr("42")}
		require.Equal(t, backend.AgentToolAnswer{Text: "42"}, backend.AnswerOfDelegate("call_0_1", done))
		done.Response = nil
		require.Equal(t, backend.AgentToolAnswer{}, backend.AnswerOfDelegate("call_0_1", done))
	})
}
