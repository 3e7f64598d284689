// Fork goes on from an earlier step of an execution with another message, and prints both ends. The execution stays as it is:
//
//	go run ./cmd/pawl dev
//	go run ./cmd/pawl submit --watch demo "Oslo, please"
//	go run ./examples/client/fork exec_07… "Bergen instead"
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
	if err := run(ctx, os.Stdout, os.Args[1:]); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("usage: fork ID TEXT")
	}
	id, err := execution.ParseID(args[0])
	if err != nil {
		return err
	}
	api, err := client.New(cmp.Or(os.Getenv("PAWL_URL"), "http://127.0.0.1:8080"), client.Config{APIKey: os.Getenv("PAWL_API_KEY")})
	if err != nil {
		return err
	}
	var from *execution.Checkpoint // the last step that can be forked
	for checkpoint, err := range api.AllCheckpoints(ctx, id, 0) {
		if err != nil {
			return err
		}
		if checkpoint.Forkable {
			from = &checkpoint
		}
	}
	if from == nil {
		return fmt.Errorf("%s has no step that can be forked", id)
	}
	forked, err := api.Fork(ctx, id, "", execution.ForkRequest{
		Step: from.Step, Input: &execution.Input{Type: execution.UserMessage, Text: strings.Join(args[1:], " ")},
	})
	if err != nil {
		return err
	}
	for _, one := range []execution.ID{id, forked.View.ID} {
		view, err := api.WaitUntil(ctx, one, stands)
		if err != nil {
			return err
		}
		said := ""
		switch {
		case view.Outcome != nil:
			said = view.Outcome.Answer
		case view.Suspension != nil:
			said = fmt.Sprintf("%s. It goes on when it is resumed: pawl resume %s", view.Suspension.Reason, view.ID)
		case view.Interaction != nil:
			said = view.Interaction.Prompt
		}
		origin := ""
		if view.ForkedFrom != nil {
			origin = fmt.Sprintf(" (from step %d)", view.ForkedFrom.Step)
		}
		if _, err := fmt.Fprintf(out, "%s%s %s: %s\n", view.ID, origin, view.State, said); err != nil {
			return err
		}
	}
	return nil
}

// stands reports whether nothing more happens until somebody answers or resumes the execution.
func stands(view execution.View) bool {
	return view.State == execution.WaitingForInput || view.State == execution.Suspended
}
