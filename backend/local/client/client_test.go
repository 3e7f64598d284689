package client_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/client"
	"github.com/pawl-run/pawl/execution"
)

func TestCallIsHandedToTheApplication(t *testing.T) {
	t.Parallel()
	approval := agent.Approval{When: "arguments.far"}
	tool, err := client.Factory(t.Context(), nil, agent.Tool{
		Name: "scroll", Type: agent.ToolClient, ExpiresAfter: time.Minute, OnExpiry: execution.ExpireSuspend, MaxRetries: 2,
		Description: "Scrolls.", Parameters: json.RawMessage(`{"type":"object"}`), Approval: approval, Sequential: true,
	}, nil)
	require.NoError(t, err)
	require.Equal(t, local.ToolSpec{
		Name: "scroll", Description: "Scrolls.", Parameters: json.RawMessage(`{"type":"object"}`),
		Recovery: agent.ReadOnly, OnUnknown: agent.UnknownAsk, MaxRetries: 2, Approval: approval, Sequential: true,
	}, tool.Spec())
	answer, err := tool.Call(t.Context(), local.Invocation{Call: execution.ToolCall{CallID: "call_0_1", Name: "scroll"}}, nil)
	require.NoError(t, err)
	require.Equal(t, local.Answer{Question: &local.Question{
		Kind: execution.ClientToolResult, Prompt: "The application is to carry out scroll (call_0_1).",
		ExpiresAfter: time.Minute, OnExpiry: execution.ExpireSuspend,
	}}, answer)
}
