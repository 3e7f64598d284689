package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/execution"
)

func newInput(s streams, dial dialer) *cobra.Command {
	var r reply
	cmd := &cobra.Command{
		Use: "input [flags] ID [TEXT…]", Short: "Answer an execution that waits",
		Long: "Answer an execution that waits: with TEXT or the fields of a form, with decisions about calls that need an\n" +
			"approval, or with the result of a call that the application carries out. Without --request the answer goes\n" +
			"to whatever it asks now. Calls that are not decided are asked about again.\n\nWith --json one value: its view.",
		Example: asTyped(self(), `  pawl input exec_07… "yes"
  pawl input exec_07… --field seats=2 --field "name=Ann Lee"
  pawl input exec_07… --approve
  pawl input exec_07… --reject --reason "too expensive" --call call_0_1
  pawl input exec_07… --edit '{"amount": 40}' --call call_0_1
  pawl input exec_07… --decide call_0_0=approve --decide "call_0_1=reject too expensive"
  pawl input exec_07… --result '{"ok": true}' --call call_0_2`),
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseID(args[0])
			if err != nil {
				return err
			}
			r.text = strings.Join(args[1:], " ")
			r.given = func(flag string) bool { return cmd.Flags().Changed(flag) }
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
	r.flags(cmd)
	return cmd
}

func (r *reply) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&r.request, "request", "", "the `REQUEST` that is answered, as the watch prints it (default: the open one)")
	flags.StringArrayVar(&r.fields, "field", nil, "a field of a form, `NAME=VALUE` (JSON, else text); may be repeated")
	flags.StringVar(&r.content, "content", "", "the whole content of a form, as `JSON`")
	flags.BoolVar(&r.decline, "decline", false, "refuse to answer the question")
	flags.BoolVar(&r.approve, "approve", false, "approve the calls")
	flags.BoolVar(&r.reject, "reject", false, "reject the calls")
	flags.StringVar(&r.answer, "answer", "", "take this `RESULT` (JSON, else text) in place of running the calls")
	flags.StringVar(&r.edit, "edit", "", "run the call with these `ARGUMENTS`, a JSON object")
	flags.StringArrayVar(&r.decide, "decide", nil,
		"decide one call: `CALL=DECISION`, where DECISION is approve, reject [REASON], edit ARGUMENTS or answer RESULT;\nmay be repeated")
	flags.StringVar(&r.result, "result", "", "the `RESULT` (JSON, else text) of a call that the application carries out")
	flags.BoolVar(&r.failed, "failed", false, "the result is that of a call that failed")
	flags.StringVar(&r.reason, "reason", "", "why the calls are rejected")
	flags.StringArrayVar(&r.calls, "call", nil, "the call that is meant; may be repeated (default: all that are asked about)")
	flags.BoolVar(&r.json, "json", false, "print JSON")
	flags.StringVar(&r.operation, "operation", "", "name of this answer: sending it again with the same name is harmless")
}

func answer(ctx context.Context, s streams, api remote, url string, id execution.ID, r reply) error {
	view, err := api.Execution(ctx, id)
	if err != nil {
		return explain(ctx, url, err)
	}
	if view.Interaction == nil && !r.selfContained() {
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
	if r.json {
		return sayJSON(s.out, view)
	}
	return say(s.out, fmt.Sprintf("%s is %s", id, view.State))
}
