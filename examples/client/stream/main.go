// Stream submits an execution, shows its events and its text as they arrive, and says yes to its questions:
//
//	go run ./cmd/pawl dev
//	go run ./examples/client/stream "Oslo, please"
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/execution"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, strings.Join(os.Args[1:], " ")); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, text string) error {
	api, err := client.New(cmp.Or(os.Getenv("PAWL_URL"), "http://127.0.0.1:8080"), client.Config{APIKey: os.Getenv("PAWL_API_KEY")})
	if err != nil {
		return err
	}
	created, err := api.Create(ctx, "", execution.CreateRequest{
		Agent: "demo", Input: execution.Input{Type: execution.UserMessage, Text: cmp.Or(text, "Oslo, please")},
	})
	if err != nil {
		return err
	}
	id := created.View.ID
	var answer client.Text // what comes twice, after a reconnect, is shown once
	for item, err := range api.Watch(ctx, id, 0) {
		switch {
		case err != nil:
			return err
		case item.Frame != nil:
			piece, _ := answer.Add(*item.Frame)
			_, _ = fmt.Fprint(out, piece)
			continue
		}
		_, _ = fmt.Fprintf(out, "\n%d %s", item.Event.Sequence, item.Event.Payload.EventType())
		if question, ok := item.Event.Payload.(*execution.InteractionRequired); ok && question.Kind == execution.Elicitation {
			_, _ = fmt.Fprintf(out, ": %s yes", question.Prompt)
			// The name of the answer comes from the question: whoever runs this again repeats it and answers nothing twice.
			_, err := api.SubmitInput(ctx, id, execution.SubmitInput{
				OperationID: execution.OperationID("stream-" + question.RequestID),
				Input:       execution.Input{Type: execution.ElicitationResponse, RequestID: question.RequestID, Text: "yes"},
			})
			if err != nil {
				return err
			}
		}
	}
	view, err := api.Execution(ctx, id)
	if err != nil {
		return err
	}
	if view.Outcome == nil {
		return fmt.Errorf("%s is %s", id, view.State)
	}
	_, err = fmt.Fprintf(out, "\nAnswer: %s\n", view.Outcome.Answer)
	return err
}
