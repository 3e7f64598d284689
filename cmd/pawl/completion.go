package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/execution"
)

// patience is how long a shell waits for the API when somebody presses the completion key.
const patience = 2 * time.Second

// completeArguments lets shells complete the names of agents and the ids of the newest executions.
func completeArguments(cmd *cobra.Command, dial dialer) {
	words := strings.Fields(strings.ReplaceAll(cmd.Use, "…", ""))
	for _, word := range words[1:] {
		switch word {
		case "AGENT":
			cmd.ValidArgsFunction = completion(dial, agentNames)
		case "ID":
			cmd.ValidArgsFunction = completion(dial, newestIDs)
		}
	}
	for flag, values := range flagValues() {
		if cmd.Flags().Lookup(flag) != nil {
			_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // it is new
		}
	}
	for _, below := range cmd.Commands() {
		if below.Name() == "keys" {
			continue // its ids are others
		}
		completeArguments(below, dial)
	}
}

// flagValues are the flags that take one of a few words.
func flagValues() map[string][]string {
	values := map[string][]string{
		"on-busy": {
			string(execution.BusyReject), string(execution.BusyEnqueue), string(execution.BusyInterrupt), string(execution.BusyRollback),
		},
		"priority": {string(execution.High), string(execution.Normal), string(execution.Low)},
	}
	for _, state := range execution.States() {
		values["state"] = append(values["state"], string(state))
	}
	return values
}

// completion completes the first argument of a command.
func completion(
	dial dialer, names func(context.Context, remote) []string,
) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		api, _, err := dial()
		if err != nil || len(args) > 0 && !strings.HasSuffix(cmd.Use, "ID…") {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), patience)
		defer cancel()
		var fit []string
		for _, name := range names(ctx, api) {
			if strings.HasPrefix(name, typed) {
				fit = append(fit, name)
			}
		}
		return fit, cobra.ShellCompDirectiveNoFileComp
	}
}

func agentNames(ctx context.Context, api remote) (names []string) {
	agents, err := api.Agents(ctx)
	if err != nil {
		return nil
	}
	for _, a := range agents {
		names = append(names, a.ID)
	}
	return names
}

func newestIDs(ctx context.Context, api remote) (names []string) {
	page, err := api.List(ctx, execution.ListQuery{Limit: 50})
	if err != nil {
		return nil
	}
	for _, view := range page.Executions {
		names = append(names, string(view.ID)+"\t"+string(view.State)+" "+clip(about(view), 40))
	}
	return names
}
