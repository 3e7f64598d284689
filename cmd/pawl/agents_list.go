package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/execution"
)

func newAgentsList(s streams, dial dialer) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the agents of the API", Args: cobra.NoArgs,
		Long: "List the agents that the API has: what `pawl submit` takes.\n\n" +
			"With --json each is a line of JSON: {id, backend, capabilities}.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, url, err := dial()
			if err != nil {
				return err
			}
			agents, err := api.Agents(cmd.Context())
			if err != nil {
				return explain(cmd.Context(), url, err)
			}
			return tellAgents(s, agents, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: one agent per line")
	return cmd
}

func tellAgents(s streams, agents []execution.AgentSummary, asJSON bool) error {
	t := new(table)
	if !asJSON {
		t.row("ID", "BACKEND", "TAKES")
	}
	for _, a := range agents {
		if asJSON {
			if err := sayJSON(s.out, a); err != nil {
				return err
			}
			continue
		}
		var takes []string
		for word, can := range map[string]bool{
			"overrides": a.Capabilities.Overrides, "frontend tools": a.Capabilities.FrontendTools, "decisions": a.Capabilities.Decisions,
		} {
			if can {
				takes = append(takes, word)
			}
		}
		t.row(oneLine(a.ID), a.Backend, strings.Join(sorted(takes), ", "))
	}
	if err := t.flush(s.out); err != nil {
		return fail("%w", err)
	}
	return nil
}
