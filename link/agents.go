package link

import (
	"context"
	"slices"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
)

// Agents implements RuntimeLink. The catalog is no secret between tenants.
func (l *session) Agents(context.Context) ([]execution.AgentSummary, error) {
	names := slices.Sorted(slices.Values(l.service.cfg.Catalog.Names()))
	summaries := make([]execution.AgentSummary, 0, len(names))
	for _, name := range names {
		if definition, known := l.service.cfg.Catalog.Agent(name); known {
			summaries = append(summaries, summary(definition))
		}
	}
	return summaries, nil
}

// capabilities are what the backend of an agent can do today.
func capabilities(definition *agent.Definition) execution.Capabilities {
	if definition.Remote() {
		return execution.Capabilities{
			Cancellation: "remote_abort", Continuation: "remote_state", Waits: "input_and_auth",
			Transcript: "incremental_user_messages_with_remote_state", Output: "text_and_artifacts",
		}
	}
	return execution.Capabilities{
		Cancellation: "cooperative_token", Decisions: true, Overrides: true, FrontendTools: true,
		Continuation: "in_process_state",
		Waits:        "input", Transcript: "full_transcript", Output: "text",
	}
}

// summary says what a backend can do today.
func summary(definition *agent.Definition) execution.AgentSummary {
	return execution.AgentSummary{ID: definition.Name, Backend: definition.Backend, Capabilities: capabilities(definition)}
}
