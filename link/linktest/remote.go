package linktest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

func remoteAgentsAreListed(t *testing.T, h Harness) {
	agents, err := h.Local().Agents(bounded(t))
	require.NoError(t, err)
	for _, agent := range agents {
		if agent.ID == "remote" {
			require.Equal(t, "a2a", agent.Backend)
			require.Equal(t, execution.Capabilities{
				Cancellation: "remote_abort", Continuation: "remote_state", Waits: "input_and_auth",
				Transcript: "incremental_user_messages_with_remote_state", Output: "text_and_artifacts",
			}, agent.Capabilities)
			return
		}
	}
	require.Fail(t, "the remote agent is not listed")
}

func remoteAgentsRefuse(t *testing.T, h Harness) {
	for field, change := range map[string]func(*execution.CreateRequest){
		"model":           func(r *execution.CreateRequest) { r.Model = "large" },
		"instructions":    func(r *execution.CreateRequest) { r.Instructions = "Be brief." },
		"generation":      func(r *execution.CreateRequest) { r.Generation = &execution.Generation{MaxOutputTokens: 1} },
		"outputSchema":    func(r *execution.CreateRequest) { r.OutputSchema = json.RawMessage(`{"type":"object"}`) },
		"frontendTools":   func(r *execution.CreateRequest) { r.FrontendTools = []execution.FrontendTool{frontendTool("scroll")} },
		"limits.maxTurns": func(r *execution.CreateRequest) { r.Limits = &execution.Limits{MaxTurns: 1} },
		"limits.maxCost":  func(r *execution.CreateRequest) { r.Limits = &execution.Limits{MaxCost: 1} },
	} {
		request := Request("hello")
		request.Agent = "remote"
		change(&request)
		unchanged(t, h, func() {
			_, err := h.Local().Create(bounded(t), "", request)
			Refused(t, err, execution.InvalidRequest, field)
		})
	}
	request := Request("hello")
	request.Agent, request.Limits = "remote", &execution.Limits{Deadline: time.Hour}
	_, err := h.Local().Create(bounded(t), "", request)
	require.NoError(t, err)
}
