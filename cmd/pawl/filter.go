package main

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/execution"
)

// filter is the flags that say which executions are meant.
type filter struct {
	state, agent, conversation string
	metadata                   []string
	since                      string
}

func (f *filter) declare(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.state, "state", "", "only those in this state: "+strings.Join(states(), ", "))
	flags.StringVar(&f.agent, "agent", "", "only those of this agent")
	flags.StringVar(&f.conversation, "conversation", "", "only those of this conversation")
	flags.StringArrayVar(&f.metadata, "metadata", nil, "only those with NAME=VALUE in their metadata; may be repeated")
	flags.StringVar(&f.since, "updated-since", "", "only those that changed since: 90m ago, or at an instant like 2026-01-31T08:00:00Z")
}

// states are the names of all states.
func states() []string {
	var names []string
	for _, state := range execution.States() {
		names = append(names, string(state))
	}
	return names
}

// query is the listing of those that are meant.
func (f *filter) query(now time.Time) (execution.ListQuery, error) {
	if f.state != "" && !slices.Contains(states(), f.state) {
		return execution.ListQuery{}, wrongUsage("--state: want one of %s, have %q", strings.Join(states(), ", "), f.state)
	}
	if f.conversation != "" {
		if _, err := execution.ParseConversationID(f.conversation); err != nil {
			return execution.ListQuery{}, wrongUsage("--conversation: %w", err)
		}
	}
	query := execution.ListQuery{
		State: execution.State(f.state), Agent: f.agent, ConversationID: execution.ConversationID(f.conversation),
	}
	var err error
	if query.Metadata, err = pairs(f.metadata); err != nil {
		return query, err
	}
	query.UpdatedSinceMs, err = sinceMs(f.since, now)
	return query, err
}

// pairs reads NAME=VALUE of --metadata.
func pairs(texts []string) (map[string]string, error) {
	var read map[string]string
	for _, pair := range texts {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, wrongUsage("--metadata: want NAME=VALUE, have %q", pair)
		}
		if read == nil {
			read = make(map[string]string)
		}
		read[name] = value
	}
	return read, nil
}

// sinceMs reads --updated-since.
func sinceMs(text string, now time.Time) (int64, error) {
	if text == "" {
		return 0, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago).UnixMilli(), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0, wrongUsage("--updated-since: want a duration like 90m or an instant like 2026-01-31T08:00:00Z, have %q", text)
	}
	return at.UnixMilli(), nil
}
