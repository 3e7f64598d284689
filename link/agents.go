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

// capabilities are what the backend of an agent can do today: the local one, the only one of this version.
func capabilities(*agent.Definition) execution.Capabilities {
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
