package link

import (
	"context"
	"fmt"

	"github.com/pawl-run/pawl/agent"
)

// rostered stores the definitions of all agents that an execution of the declared one may come to run besides, and the roster
// that names them, and puts its hash into what the execution's row says. The execution and those that it starts run these
// definitions and no others, whatever becomes of the agents' file meanwhile. An agent that calls none has no roster.
func (s *Service) rostered(ctx context.Context, declared *agent.Definition, overrides []byte) ([]byte, error) {
	called := declared.Reachable(s.cfg.Catalog.Agent)
	if len(called) == 0 {
		return overrides, nil
	}
	roster := agent.Roster{Agents: make(map[string]string, len(called))}
	for _, definition := range called {
		stored := s.texts.of(definition)
		if err := s.cfg.Journal.PutDefinition(ctx, stored.hash, stored.canonical); err != nil {
			return nil, fmt.Errorf("agent %s: %w", definition.Name, err)
		}
		roster.Agents[definition.Name] = stored.hash
	}
	data, hash, err := roster.Encode()
	if err != nil {
		return nil, err
	}
	if err := s.cfg.Journal.PutDefinition(ctx, hash, data); err != nil {
		return nil, fmt.Errorf("roster: %w", err)
	}
	return withRoster(overrides, hash)
}

// withRoster puts the hash of a roster into what a row says.
func withRoster(overrides []byte, hash string) ([]byte, error) {
	adjustments, err := agent.DecodeAdjustments(overrides)
	if err != nil || hash == "" {
		return overrides, err
	}
	adjustments.Roster = hash
	return adjustments.Encode()
}

// sameRoster is what the row of a fork says: it calls the agents by the roster of the execution that it comes from.
func sameRoster(source, overrides []byte) ([]byte, error) {
	adjustments, err := agent.DecodeAdjustments(source)
	if err != nil {
		return nil, err
	}
	return withRoster(overrides, adjustments.Roster)
}
