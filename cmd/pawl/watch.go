package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/execution"
)

// How long nothing may come before the watch asks where the execution stands: once soon after something came, then now and
// then.
const (
	soon  = 3 * time.Second
	quiet = 10 * time.Second
)

func newWatch(s streams, dial dialer) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "watch ID", Short: "Follow an execution to its end",
		Long: "Follow an execution from its first event to its end: one line per event, text as it arrives on a terminal.\n" +
			"When a person is needed it asks at a prompt, or prints the command that answers. While the execution waits for\n" +
			"its children it says for which, and what these need. It survives restarts of the API. Ctrl-C ends the watch and\n" +
			"not the execution.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseID(args[0])
			if err != nil {
				return err
			}
			api, url, err := dial()
			if err != nil {
				return err
			}
			return watch(cmd.Context(), s, api, url, id, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one event per line as JSON, and never ask")
	return cmd
}

// watcher follows one execution. Its fields belong to the goroutine that runs follow.
type watcher struct {
	streams
	api    remote
	url    string
	id     execution.ID
	render *renderer
	ask    bool // at a prompt; else print the command that answers

	last    execution.Payload   // of the newest event
	pending *prompt             // a question that is being asked
	asked   execution.RequestID // the newest request that was shown
	lines   chan string         // what is typed; nil until it is needed
	awayFor bool                // the API does not answer
	family  childrenWatch       // what was said of its children
}

// watch follows the execution and answers with the exit code of its end.
func watch(ctx context.Context, s streams, api remote, url string, id execution.ID, asJSON bool) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	w := &watcher{
		streams: s, api: api, url: url, id: id, render: newRenderer(s.out, s.outTerminal, asJSON),
		ask: s.inTerminal && s.outTerminal && !asJSON,
	}
	w.render.note("%s  (Ctrl-C leaves it running)", id)
	stream, err := api.Follow(ctx, id, 0)
	if err != nil {
		return explain(ctx, url, err)
	}
	defer func() { _ = stream.Close() }() // nothing more is read from it
	return w.follow(ctx, pump(ctx, stream))
}

// received is what a stream gave.
type received struct {
	item execution.StreamItem
	err  error
}

// pump reads the stream until its end or ctx's.
func pump(ctx context.Context, stream execution.Stream) <-chan received {
	items := make(chan received)
	go func() {
		defer close(items)
		for {
			item, err := stream.Next(ctx)
			select {
			case items <- received{item, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return items
}

func (w *watcher) follow(ctx context.Context, items <-chan received) error {
	silence := time.NewTimer(soon)
	defer silence.Stop()
	for w.render.firstFail == nil {
		select {
		case <-ctx.Done():
			return w.interrupted()
		case got, ok := <-items:
			if !ok {
				return w.interrupted()
			}
			silence.Reset(soon)
			if done, err := w.take(ctx, got); done {
				return err
			}
		case line, ok := <-w.lines:
			if !ok {
				w.terminalGone()
				continue
			}
			if err := w.typed(ctx, line); err != nil {
				return err
			}
		case <-silence.C:
			silence.Reset(quiet)
			w.lookAround(ctx)
		}
	}
	return fail("print: %w", w.render.firstFail)
}

// take shows what the stream gave. done says that the watch is over.
func (w *watcher) take(ctx context.Context, got received) (done bool, err error) {
	switch {
	case errors.Is(got.err, io.EOF):
		return true, w.end(ctx)
	case got.err != nil && ctx.Err() != nil:
		return true, w.interrupted()
	case got.err != nil:
		return true, explain(ctx, w.url, got.err)
	}
	w.back()
	if got.item.Frame != nil {
		w.render.frame(*got.item.Frame)
		return false, nil
	}
	event := got.item.Event
	w.last = event.Payload
	w.render.event(*event)
	switch p := event.Payload.(type) {
	case *execution.InteractionRequired:
		return w.question(ctx, p.RequestID)
	case *execution.InteractionReceived:
		w.answered(p.RequestID)
	case *execution.ExecutionSuspended:
		return w.suspended(ctx)
	case *execution.UnreadableEvent: // which may have asked, or suspended it
		w.lookAround(ctx)
		return w.suspended(ctx)
	}
	return false, nil
}

// question shows an open question; one that was answered since is history.
func (w *watcher) question(ctx context.Context, request execution.RequestID) (bool, error) {
	view, err := w.api.Execution(ctx, w.id)
	if err != nil {
		if ctx.Err() != nil {
			return true, w.interrupted()
		}
		return false, nil // a later look around asks
	}
	if view.State == execution.WaitingForInput && view.Interaction != nil && view.Interaction.RequestID == request {
		w.show(view.Interaction)
	}
	return false, nil
}

// show asks at the prompt, or prints the command that answers.
func (w *watcher) show(interaction *execution.Interaction) {
	if w.asked == interaction.RequestID {
		return
	}
	w.asked = interaction.RequestID
	if !w.ask {
		for _, line := range callsOf(w.id, interaction) {
			w.render.note("%s", line)
		}
		w.render.note("%s. Answer with: %s", waitingFor(interaction), answerCommand(w.id, interaction))
		return
	}
	if w.lines == nil {
		w.lines = readLines(w.in)
	}
	w.pending = newPrompt(interaction)
	w.render.prompt(w.pending.text())
}

// terminalGone leaves the answers to commands: nothing can be typed any more.
func (w *watcher) terminalGone() {
	if w.pending != nil {
		w.render.note("Nothing more can be typed here. Answer with: %s", answerCommand(w.id, w.pending.asked))
	}
	w.lines, w.ask, w.pending = nil, false, nil
}

// typed takes a line from the terminal.
func (w *watcher) typed(ctx context.Context, line string) error {
	w.render.typed()
	if w.pending == nil {
		return nil // typed before there was a question
	}
	input, done := w.pending.take(line)
	if !done {
		w.render.prompt(w.pending.text())
		return nil
	}
	operation := w.pending.operation
	w.pending = nil
	_, err := w.api.SubmitInput(ctx, w.id, execution.SubmitInput{OperationID: operation, Input: input})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, execution.ErrConflict):
		w.render.note("Somebody else was first: the question is closed.")
		return nil
	case errors.Is(err, execution.ErrInvalid):
		w.render.note("The answer was refused: %s", told(err))
		w.asked = ""
		return nil
	default:
		return explain(ctx, w.url, err)
	}
}

// answered forgets a question that somebody answered.
func (w *watcher) answered(request execution.RequestID) {
	if w.pending != nil && w.pending.asked.RequestID == request {
		w.pending = nil
		w.render.note("Answered elsewhere.")
	}
}

// suspended ends the watch if the execution still is suspended; one that was resumed since goes on.
func (w *watcher) suspended(ctx context.Context) (bool, error) {
	view, err := w.api.Execution(ctx, w.id)
	if err != nil || view.State != execution.Suspended {
		return false, nil // the next look around tells
	}
	w.render.note("Suspended: it does nothing until it is resumed. When what stopped it is mended: %s",
		resumeCommand(w.id, view.Suspension))
	return true, &exit{code: exitSuspended}
}

// lookAround asks where the execution stands, after a silence.
func (w *watcher) lookAround(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, quiet/2)
	defer cancel()
	view, err := w.api.Execution(ctx, w.id)
	if errors.Is(err, execution.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		if !w.awayFor {
			w.awayFor = true
			w.render.note("No API answers at %s. Waiting for it; the execution does not depend on it.", w.url)
		}
		return
	}
	if err != nil {
		return
	}
	w.back()
	if view.State == execution.WaitingForInput && view.Interaction != nil {
		w.show(view.Interaction)
	}
	w.children(ctx, view)
}

func (w *watcher) back() {
	if w.awayFor {
		w.awayFor = false
		w.render.note("The API answers again.")
	}
}

func (w *watcher) interrupted() error {
	w.render.note("The execution goes on. Come back with: %s watch %s", self(), w.id)
	return &exit{code: exitInterrupted}
}

// end prints the answer and gives the exit code of the last event.
func (w *watcher) end(ctx context.Context) error {
	switch p := w.last.(type) {
	case *execution.ExecutionCompleted:
		answer := p.Answer
		if p.AnswerBytes > 0 { // the view has it whole
			if view, err := w.api.Execution(ctx, w.id); err == nil && view.Outcome != nil {
				answer = view.Outcome.Answer
			}
		}
		w.render.answer(answer)
		return nil
	case *execution.ExecutionFailed:
		return &exit{code: exitFailed}
	case *execution.ExecutionCanceled:
		return &exit{code: exitCanceled}
	default: // the log ended before we read it, or its end cannot be read: the view knows
		view, err := w.api.Execution(ctx, w.id)
		if err != nil {
			return explain(ctx, w.url, err)
		}
		if view.Outcome != nil {
			w.render.answer(view.Outcome.Answer)
		}
		return exitOf(view)
	}
}

func exitOf(view execution.View) error {
	switch view.State {
	case execution.Completed:
		return nil
	case execution.Failed:
		return &exit{code: exitFailed}
	case execution.Canceled:
		return &exit{code: exitCanceled}
	case execution.Suspended:
		return &exit{code: exitSuspended}
	case execution.Queued, execution.Running, execution.WaitingForInput, execution.Finalizing:
		return fail("the stream of %s ended while it is %s", view.ID, view.State)
	default:
		return fail("%s is in the unknown state %q", view.ID, view.State)
	}
}

// answerCommand is what a person types to answer.
func answerCommand(id execution.ID, asked *execution.Interaction) string {
	command := fmt.Sprintf("%s input %s", self(), id)
	switch asked.Kind {
	case execution.Approval:
		others := "--reject, --edit ARGUMENTS, --answer RESULT"
		if asked.Reason == execution.OutcomeUnknown {
			others = "--reject, --answer RESULT"
		}
		return fmt.Sprintf("%s --request %s --approve (or %s; --call CALL for one of them)", command, asked.RequestID, others)
	case execution.ClientToolResult:
		call := execution.CallID("CALL")
		if len(asked.Calls) > 0 {
			call = asked.Calls[0].CallID
		}
		return fmt.Sprintf(`%s --call %s --result RESULT`, command, call)
	case execution.Elicitation, execution.Authentication:
	}
	if form := newForm(asked.Schema); form != nil {
		command = fmt.Sprintf("%s --request %s", command, asked.RequestID)
		for _, field := range form.fields {
			command += fmt.Sprintf(" --field %s=…", clean(field.name))
		}
		return command + " (or --decline)"
	}
	return fmt.Sprintf("%s --request %s %q", command, asked.RequestID, "your answer")
}

// callsOf are lines that name what an interaction of the execution asks about, where the prompt does not. A call whose outcome
// is unknown has its effect id there, to be looked for in the tool.
func callsOf(id execution.ID, asked *execution.Interaction) []string {
	if asked.Kind != execution.Approval && asked.Kind != execution.ClientToolResult {
		return nil
	}
	lines := make([]string, len(asked.Calls))
	for i, call := range asked.Calls {
		lines[i] = fmt.Sprintf("%s  %s %s", call.CallID, call.Name, oneLine(string(call.Arguments)))
		if asked.Reason == execution.OutcomeUnknown {
			lines[i] += "  effect " + execution.EffectID(id, call.CallID)
		}
	}
	return lines
}

// waitingFor says whom the execution waits for.
func waitingFor(asked *execution.Interaction) string {
	if asked.Kind == execution.ClientToolResult {
		return "Waiting for a result"
	}
	return "Waiting for a person"
}
