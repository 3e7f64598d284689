package human_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/human"
	"github.com/pawl-run/pawl/execution"
)

func TestCallBecomesAQuestion(t *testing.T) {
	t.Parallel()
	tool, err := human.Factory(t.Context(), nil, agent.Tool{
		Name: "confirm", Type: agent.ToolHuman, ExpiresAfter: time.Hour, OnExpiry: execution.ExpireFail, MaxRetries: 2,
		Description: "Asks.", Parameters: json.RawMessage(`{}`),
	}, nil)
	require.NoError(t, err)
	answer, err := tool.Call(t.Context(), invocation(`{"question": "Book it?", "more": 1}`), nil)
	require.NoError(t, err)
	require.Equal(t, local.Answer{Question: &local.Question{
		Kind: execution.Elicitation, Prompt: "Book it?", ExpiresAfter: time.Hour, OnExpiry: execution.ExpireFail,
	}}, answer)
	require.Equal(t, local.ToolSpec{
		Name: "confirm", Description: "Asks.", Parameters: json.RawMessage(`{}`),
		Recovery: agent.ReadOnly, OnUnknown: agent.UnknownAsk, MaxRetries: 2,
	}, tool.Spec())
}

func TestCallWithoutAQuestionIsAnErrorResult(t *testing.T) {
	t.Parallel()
	for _, arguments := range []string{``, `{}`, `{"question": ""}`, `{"question": "  "}`, `{"question": 1}`, `[]`, `null`, `{`} {
		answer, err := human.New(agent.Tool{Name: "confirm"}).Call(t.Context(), invocation(arguments), nil)
		require.NoError(t, err, arguments)
		require.Nil(t, answer.Question, arguments)
		require.True(t, answer.Result.IsError, arguments)
		require.Equal(t, execution.ToolInvalidArguments, answer.Result.ErrorKind)
		require.Equal(t, execution.CallID("call_0_1"), answer.Result.CallID)
	}
}

func invocation(arguments string) local.Invocation {
	return local.Invocation{Call: execution.ToolCall{
		CallID: "call_0_1", Name: "confirm", Arguments: json.RawMessage(arguments),
	}}
}
