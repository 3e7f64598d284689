package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/execution"
)

type submission struct {
	watch, json  bool
	conversation string
	key          string
	priority     string
	metadata     []string
	overrides    overrides
}

func newSubmit(s streams, dial dialer) *cobra.Command {
	var asked submission
	cmd := &cobra.Command{
		Use: "submit [flags] AGENT TEXT…", Short: "Submit an execution",
		Long: "Submit an execution: AGENT is to answer TEXT. Prints its id, or follows it with --watch.",
		Example: asTyped(self(), `  pawl submit --watch demo "Oslo, please"
  pawl submit --key order-7 --metadata order=7 demo "Oslo, please"`),
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			request, err := asked.request(args)
			if err != nil {
				return err
			}
			api, url, err := dial()
			if err != nil {
				return err
			}
			return submit(cmd.Context(), s, api, url, asked, request)
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&asked.watch, "watch", "w", false, "follow the execution to its end")
	flags.BoolVar(&asked.json, "json", false, "print JSON: the view, or with --watch one event per line")
	flags.StringVar(&asked.conversation, "conversation", "", "the conversation to go on with, or its new name")
	flags.StringVar(&asked.key, "key", "", "idempotency key: submitting again with it gives the same execution")
	flags.StringVar(&asked.priority, "priority", "", "high, normal or low (default normal)")
	asked.overrides.declare(cmd)
	flags.StringArrayVar(&asked.metadata, "metadata", nil, "NAME=VALUE to keep with the execution; may be repeated")
	return cmd
}

func (a *submission) request(args []string) (execution.CreateRequest, error) {
	request := execution.CreateRequest{
		Agent: args[0], Input: execution.Input{Type: execution.UserMessage, Text: strings.Join(args[1:], " ")},
		ConversationID: execution.ConversationID(a.conversation), Priority: execution.Priority(a.priority),
	}
	if a.conversation != "" {
		if _, err := execution.ParseConversationID(a.conversation); err != nil {
			return request, wrongUsage("--conversation: %w", err)
		}
	}
	switch request.Priority {
	case "", execution.High, execution.Normal, execution.Low:
	default:
		return request, wrongUsage("--priority: want high, normal or low, have %q", a.priority)
	}
	for _, pair := range a.metadata {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return request, wrongUsage("--metadata: want NAME=VALUE, have %q", pair)
		}
		if request.Metadata == nil {
			request.Metadata = make(map[string]string)
		}
		request.Metadata[name] = value
	}
	return request, a.overrides.apply(&request)
}

func submit(ctx context.Context, s streams, api remote, url string, asked submission, request execution.CreateRequest) error {
	created, err := api.Create(ctx, asked.key, request)
	if err != nil {
		return explain(ctx, url, err)
	}
	if asked.watch {
		return watch(ctx, s, api, url, created.View.ID, asked.json)
	}
	if asked.json {
		line, err := json.Marshal(created.View)
		if err != nil {
			return fail("print the view: %w", err)
		}
		return say(s.out, string(line))
	}
	if err := say(s.out, string(created.View.ID)); err != nil {
		return err
	}
	if s.outTerminal {
		return say(s.err, fmt.Sprintf("Follow it with: %s watch %s", self(), created.View.ID))
	}
	return nil
}
