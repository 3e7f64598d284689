// Approve decides about calls that wait for an approval: it approves those whose arguments name one of the cities of its
// command line, and rejects the others. It works through what waits, and with -follow goes on with what comes:
//
//	PAWL_AGENTS=examples/approvals/agents.yaml go run ./cmd/pawl dev
//	go run ./cmd/pawl submit desk "Where can I fly?"
//	go run ./examples/client/approve -follow Bergen
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"time"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/execution"
)

func main() {
	follow := flag.Bool("follow", false, "go on with what comes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *follow, flag.Args()); err != nil && !errors.Is(err, context.Canceled) {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, follow bool, cities []string) error {
	api, err := client.New(cmp.Or(os.Getenv("PAWL_URL"), "http://127.0.0.1:8080"), client.Config{APIKey: os.Getenv("PAWL_API_KEY")})
	if err != nil {
		return err
	}
	began := time.Now().Add(-time.Minute)
	for view, err := range api.All(ctx, execution.ListQuery{State: execution.WaitingForInput}) {
		if err == nil {
			err = decide(ctx, out, api, view, cities)
		}
		if err != nil {
			return err
		}
	}
	if !follow {
		return nil
	}
	// What was asked meanwhile comes too; what was answered above is seen to be.
	for item, err := range api.WatchAll(ctx, began, string(execution.TypeInteractionRequired)) {
		if err != nil {
			return err
		}
		view, err := api.Execution(ctx, item.Execution)
		if err == nil {
			err = decide(ctx, out, api, view, cities)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// decide answers the approval that an execution waits for, if it does.
func decide(ctx context.Context, out io.Writer, api *client.Client, view execution.View, cities []string) error {
	asked := view.Interaction
	if view.State != execution.WaitingForInput || asked == nil || asked.Kind != execution.Approval {
		return nil
	}
	input := execution.Input{Type: execution.ToolApproval, RequestID: asked.RequestID}
	for _, call := range asked.Calls {
		var arguments struct {
			City string `json:"city"`
		}
		// The hash binds the decision to the arguments that were looked at.
		decision := execution.Decision{CallID: call.CallID, Decision: execution.Approve, ArgumentsHash: call.ArgumentsHash}
		if json.Unmarshal(call.Arguments, &arguments) != nil || !slices.Contains(cities, arguments.City) {
			decision.Decision, decision.Reason = execution.Reject, "not one of our cities"
		}
		input.Decisions = append(input.Decisions, decision)
		_, _ = fmt.Fprintf(out, "%s %s %s: %s\n", view.ID, call.Name, call.Arguments, decision.Decision)
	}
	_, err := api.SubmitInput(ctx, view.ID, execution.SubmitInput{
		OperationID: execution.OperationID("approve-" + asked.RequestID), Input: input,
	})
	if errors.Is(err, execution.ErrInteractionClosed) || errors.Is(err, execution.ErrExecutionEnded) {
		return nil // somebody else was first
	}
	return err
}
