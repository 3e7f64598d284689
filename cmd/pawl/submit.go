package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/execution"
)

type submission struct {
	afterwards
	conversation string
	onBusy       string
	key          string
	priority     string
	retention    time.Duration
	metadata     []string
	overrides    overrides
	delegated    delegated
}

func newSubmit(s streams, dial dialer) *cobra.Command {
	var asked submission
	cmd := &cobra.Command{
		Use: "submit [flags] AGENT TEXT…", Short: "Submit an execution",
		Long: "Submit an execution: AGENT is to answer TEXT. Prints its id, or follows it with --watch.\n" +
			"Where a person is needed, the watch asks at a terminal; elsewhere it prints the `pawl input` command that answers, and\n" +
			"waits for as long as nobody does.\n\n" +
			"With --json one value: its view; or with --watch one event per line.",
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
	asked.declare(cmd)
	flags.StringVar(&asked.conversation, "conversation", "", "the conversation to go on with, or its new name")
	flags.StringVar(&asked.onBusy, "on-busy", "", "when another execution of the conversation is active: reject (the default), enqueue\n"+
		"behind it, interrupt it and go on with what it said, or rollback to before it")
	flags.StringVar(&asked.key, "key", "", "idempotency key: submitting again with it gives the same execution")
	flags.StringVar(&asked.priority, "priority", "", "high, normal or low (default normal)")
	flags.DurationVar(&asked.retention, "retention", 0, "how long it is kept after its end (default as its agent says, or the installation)")
	asked.overrides.declare(cmd)
	asked.delegated.declare(flags)
	flags.StringArrayVar(&asked.metadata, "metadata", nil, "NAME=VALUE to keep with the execution; may be repeated")
	return cmd
}

func (a *submission) request(args []string) (execution.CreateRequest, error) {
	request := execution.CreateRequest{
		Agent: args[0], Input: execution.Input{Type: execution.UserMessage, Text: strings.Join(args[1:], " ")},
		ConversationID: execution.ConversationID(a.conversation), Priority: execution.Priority(a.priority),
		OnBusy: execution.OnBusy(a.onBusy), RetentionMs: a.retention.Milliseconds(),
		Delegation: a.delegated.request(),
	}
	if a.retention != 0 && (a.retention < execution.MinRetention || a.retention > execution.MaxRetention) {
		return request, wrongUsage("--retention: want a duration from %v to %.0fh, have %v",
			execution.MinRetention, execution.MaxRetention.Hours(), a.retention)
	}
	if a.conversation != "" {
		if _, err := execution.ParseConversationID(a.conversation); err != nil {
			return request, wrongUsage("--conversation: %w", err)
		}
	}
	switch request.OnBusy {
	case "", execution.BusyReject, execution.BusyEnqueue, execution.BusyInterrupt, execution.BusyRollback:
	default:
		return request, wrongUsage("--on-busy: want reject, enqueue, interrupt or rollback, have %q", a.onBusy)
	}
	switch request.Priority {
	case "", execution.High, execution.Normal, execution.Low:
	default:
		return request, wrongUsage("--priority: want high, normal or low, have %q", a.priority)
	}
	var err error
	if request.Metadata, err = pairs(a.metadata); err != nil {
		return request, err
	}
	return request, a.overrides.apply(&request)
}

func submit(ctx context.Context, s streams, api remote, url string, asked submission, request execution.CreateRequest) error {
	created, err := api.Create(ctx, asked.key, request)
	if err != nil {
		return explain(ctx, url, err)
	}
	return asked.tell(ctx, s, api, url, created)
}
