package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/execution"
)

// reply is what a person says to an interaction.
type reply struct {
	text            string
	approve, reject bool
	answer          string   // in place of running the calls
	reason          string   // of a reject
	calls           []string // empty: all calls of the interaction
	request         string   // empty: the open one
	operation       string   // empty: a new one
}

func newInput(s streams, dial dialer) *cobra.Command {
	var r reply
	cmd := &cobra.Command{
		Use: "input [flags] ID [TEXT…]", Short: "Answer an execution that waits for a person",
		Long: "Answer an execution that waits for a person: with TEXT, or for an approval with --approve, --reject or\n" +
			"--answer. Without --request the answer goes to whatever it asks now.",
		Example: asTyped(self(), `  pawl input exec_07… "yes"
  pawl input exec_07… --approve
  pawl input exec_07… --reject --reason "too expensive" --call call_0_1`),
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseID(args[0])
			if err != nil {
				return err
			}
			r.text = strings.Join(args[1:], " ")
			if err := r.check(len(args) > 1); err != nil {
				return err
			}
			api, url, err := dial()
			if err != nil {
				return err
			}
			return answer(cmd.Context(), s, api, url, id, r)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&r.request, "request", "", "the `REQUEST` that is answered, as the watch prints it (default: the open one)")
	flags.BoolVar(&r.approve, "approve", false, "approve the calls")
	flags.BoolVar(&r.reject, "reject", false, "reject the calls")
	flags.StringVar(&r.answer, "answer", "", "take this result (JSON, else text) in place of running the calls")
	flags.StringVar(&r.reason, "reason", "", "why the calls are rejected")
	flags.StringArrayVar(&r.calls, "call", nil, "the call that is meant; may be repeated (default: all that are asked about)")
	flags.StringVar(&r.operation, "operation", "", "name of this answer: sending it again with the same name is harmless")
	return cmd
}

func (r *reply) check(hasText bool) error {
	ways := 0
	for _, given := range []bool{hasText, r.approve, r.reject, r.answer != ""} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		return wrongUsage("give exactly one of TEXT, --approve, --reject and --answer")
	}
	if r.reason != "" && !r.reject {
		return wrongUsage("--reason belongs to --reject")
	}
	if hasText && len(r.calls) > 0 {
		return wrongUsage("--call belongs to --approve, --reject and --answer")
	}
	if r.operation != "" {
		if _, err := execution.ParseOperationID(r.operation); err != nil {
			return wrongUsage("--operation: %w", err)
		}
	}
	return nil
}

func answer(ctx context.Context, s streams, api remote, url string, id execution.ID, r reply) error {
	view, err := api.Execution(ctx, id)
	if err != nil {
		return explain(ctx, url, err)
	}
	if view.Interaction == nil && (r.request == "" || r.text == "") {
		return fail("%s does not wait for a person: it is %s", id, view.State)
	}
	input, err := r.input(view.Interaction)
	if err != nil {
		return err
	}
	if r.operation == "" {
		r.operation = "cli-" + ulid.Make().String()
	}
	view, err = api.SubmitInput(ctx, id, execution.SubmitInput{
		OperationID: execution.OperationID(r.operation), Input: input,
	})
	if err != nil {
		return explain(ctx, url, err)
	}
	return say(s.out, fmt.Sprintf("%s is %s", id, view.State))
}

// input turns the reply into what the API takes. asked may be nil when the reply names its request and is a text.
func (r *reply) input(asked *execution.Interaction) (execution.Input, error) {
	request := execution.RequestID(r.request)
	if request == "" {
		request = asked.RequestID
	}
	if asked == nil || asked.Kind == execution.Elicitation {
		if r.text == "" {
			return execution.Input{}, wrongUsage("%s asks for a text, not for an approval", request)
		}
		return execution.Input{Type: execution.ElicitationResponse, RequestID: request, Text: r.text}, nil
	}
	if asked.Kind != execution.Approval {
		return execution.Input{}, fail("%s asks for %s, which this command cannot give", request, asked.Kind)
	}
	if r.text != "" {
		return execution.Input{}, wrongUsage("%s asks for an approval: use --approve, --reject or --answer", request)
	}
	decisions, err := r.decisions(asked.Calls)
	if err != nil {
		return execution.Input{}, err
	}
	return execution.Input{Type: execution.ToolApproval, RequestID: request, Decisions: decisions}, nil
}

func (r *reply) decisions(asked []execution.InteractionCall) ([]execution.Decision, error) {
	calls := r.calls
	if len(calls) == 0 {
		for _, call := range asked {
			calls = append(calls, string(call.CallID))
		}
	}
	decisions := make([]execution.Decision, 0, len(calls))
	for _, call := range calls {
		decision := execution.Decision{CallID: execution.CallID(call), Decision: execution.Approve}
		switch {
		case r.reject:
			decision.Decision, decision.Reason = execution.Reject, r.reason
		case r.answer != "":
			decision.Decision = execution.Answer
			if decision.Answer = json.RawMessage(r.answer); !json.Valid(decision.Answer) {
				text, err := json.Marshal(r.answer)
				if err != nil {
					return nil, wrongUsage("--answer: %w", err)
				}
				decision.Answer = text
			}
		}
		decisions = append(decisions, decision)
	}
	return decisions, nil
}

// say prints a line.
func say(out io.Writer, line string) error {
	if _, err := fmt.Fprintln(out, line); err != nil {
		return fail("%w", err)
	}
	return nil
}
