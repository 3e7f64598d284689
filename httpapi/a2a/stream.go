package a2a

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	sdk "github.com/a2aproject/a2a-go/a2a"

	"github.com/pawl-run/pawl/execution"
)

// yield takes an event of a stream, or the error that ends it. It answers false when nothing more is wanted.
type yield = func(sdk.Event, error) bool

// headerLast is where a client says which event it had last.
const headerLast = "Last-Event-ID"

type lastKey struct{}

// withLast is a context that carries what a client sent as headerLast.
func withLast(ctx context.Context, last string) context.Context {
	return context.WithValue(ctx, lastKey{}, last)
}

// lastEvent is where in the log a client stands: by the header, or as its subscription's metadata say.
func lastEvent(ctx context.Context, metadata map[string]any) (after execution.Sequence, named bool, err error) {
	text, _ := ctx.Value(lastKey{}).(string)
	if text == "" {
		switch value := metadata[metaSequence].(type) {
		case nil:
			return 0, false, nil
		case float64:
			text = strconv.FormatFloat(value, 'f', -1, 64)
		case string:
			text = value
		}
	}
	n, err := strconv.ParseUint(text, 10, 53)
	if err != nil {
		return 0, false, bad(headerLast, "must be the id of an event of this task's stream")
	}
	return execution.Sequence(n), true, nil
}

// tell sends a task as it is and what follows.
func (h *handler) tell(ctx context.Context, t taken, history int, yield yield) {
	task, err := h.task(ctx, t.view, history)
	if err != nil {
		yield(nil, err)
		return
	}
	// The answer comes in pieces, so that no line of the stream is longer than clients take.
	task.Artifacts, task.Metadata = nil, map[string]any{metaSequence: uint64(t.after)}
	if !yield(task, nil) {
		return
	}
	if !t.view.State.Terminal() {
		h.follow(ctx, t.view, t.after, yield)
		return
	}
	teller := &teller{handler: h, view: t.view}
	for _, event := range teller.ended(t.view, t.after) {
		if !yield(event, nil) {
			return
		}
	}
}

// follow sends what is in the log behind a sequence, and what comes, up to the end or the next question. Without either, the
// stream was cut.
func (h *handler) follow(ctx context.Context, view execution.View, after execution.Sequence, yield yield) {
	t := &teller{handler: h, view: view, last: after}
	for {
		items, err := h.link(ctx).Follow(ctx, view.ID, t.last)
		if err == nil {
			err = t.copy(ctx, items, yield)
			_ = items.Close() // nothing more is read
		}
		switch {
		case errors.Is(err, execution.ErrOverloaded): // the client was too slow, and goes on where it stands
		case err == nil, ctx.Err() != nil, errors.Is(err, errEnough):
			return
		default:
			yield(nil, problem(err))
			return
		}
	}
}

// errEnough: nothing more is wanted.
var errEnough = errors.New("nothing more is wanted")

// copy sends what a stream brings until it ends or is not wanted any more.
func (t *teller) copy(ctx context.Context, items execution.Stream, yield yield) error {
	for {
		item, err := items.Next(ctx)
		if errors.Is(err, io.EOF) {
			return t.late(ctx, yield)
		}
		if err != nil {
			return err
		}
		events, err := t.item(ctx, item)
		if err != nil {
			return err
		}
		for _, event := range events {
			if !yield(event, nil) {
				return errEnough
			}
			if status, is := event.(*sdk.TaskStatusUpdateEvent); is && status.Final {
				return errEnough
			}
		}
	}
}

// late ends the stream of a client that has had the last event already: it is told again how the task ended.
func (t *teller) late(ctx context.Context, yield yield) error {
	view, err := t.handler.link(ctx).Execution(ctx, t.view.ID)
	if err != nil {
		return err
	}
	for _, event := range t.ended(view, t.last) {
		if !yield(event, nil) {
			break
		}
	}
	return errEnough
}

// teller turns the events and frames of an execution into those of a task.
type teller struct {
	handler *handler
	view    execution.View
	last    execution.Sequence // of the last event that was told

	// The answer that is being given: which one, and as much of it as was told.
	invocation string
	text       strings.Builder
	length     int // of text, in characters
}

func (t *teller) item(ctx context.Context, item execution.StreamItem) ([]sdk.Event, error) {
	if item.Frame != nil {
		return t.frame(*item.Frame), nil
	}
	t.last = item.Event.Sequence
	return t.event(ctx, *item.Event)
}

// frame tells pieces of an answer as pieces of the artifact, and what a tool says meanwhile as a status.
func (t *teller) frame(frame execution.Frame) []sdk.Event {
	switch {
	case frame.Text == "":
		return nil
	case frame.Type == execution.FrameToolProgress:
		update := t.status(sdk.TaskStatus{State: sdk.TaskStateWorking, Message: said(
			t.view.ID, t.view.ConversationID, string(frame.CallID)+"-progress", map[string]any{"callId": string(frame.CallID)},
			sdk.TextPart{Text: frame.Text},
		)}, 0)
		return []sdk.Event{update}
	case frame.InvocationID == "":
		return nil
	}
	if frame.InvocationID != t.invocation {
		t.invocation = frame.InvocationID
		t.begin("")
	}
	switch {
	case frame.Offset > t.length:
		return nil // a piece is missing: the whole answer comes at the end
	case frame.Offset == t.length && t.length > 0:
		t.add(frame.Text)
		return t.pieces(frame.Text, true)
	default: // it begins, or begins again
		t.begin(firstRunes(t.text.String(), frame.Offset))
		t.add(frame.Text)
		return t.pieces(t.text.String(), false)
	}
}

// begin makes a text what was told of the answer so far.
func (t *teller) begin(text string) {
	t.text, t.length = strings.Builder{}, 0
	t.add(text)
}

// add takes a piece. It costs as much as the piece is long, however long the answer is.
func (t *teller) add(text string) {
	_, _ = t.text.WriteString(text) // a builder never fails
	t.length += utf8.RuneCountInString(text)
}

func firstRunes(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// pieceBytes bounds a piece of an answer. The SDK for Go takes lines of 64 KiB, and a byte may become six.
const pieceBytes = 8 << 10

// pieces is a text of the answer, in place of what was told of it or behind that.
func (t *teller) pieces(text string, behind bool) []sdk.Event {
	var all []sdk.Event
	for {
		n := min(len(text), pieceBytes)
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n--
		}
		all = append(all, t.piece(behind, sdk.TextPart{Text: text[:n]}))
		if text, behind = text[n:], true; text == "" {
			return all
		}
	}
}

func (t *teller) piece(behind bool, parts ...sdk.Part) *sdk.TaskArtifactUpdateEvent {
	return &sdk.TaskArtifactUpdateEvent{
		TaskID: sdk.TaskID(t.view.ID), ContextID: string(t.view.ConversationID), Append: behind,
		Artifact: &sdk.Artifact{ID: answerID, Name: string(answerID), Parts: parts},
	}
}

// status is an update; sequence is where in the log it stands, 0: nowhere.
func (t *teller) status(status sdk.TaskStatus, sequence execution.Sequence) *sdk.TaskStatusUpdateEvent {
	update := &sdk.TaskStatusUpdateEvent{
		TaskID: sdk.TaskID(t.view.ID), ContextID: string(t.view.ConversationID), Status: status,
		Final: status.State.Terminal(),
	}
	if sequence > 0 {
		update.Metadata = map[string]any{metaSequence: uint64(sequence)}
	}
	return update
}

// event tells what an event of the log changes; nothing of one that changes no state.
func (t *teller) event(ctx context.Context, event execution.Event) ([]sdk.Event, error) {
	working := sdk.TaskStatus{State: sdk.TaskStateWorking, Timestamp: at(event.OccurredAtMs)}
	switch p := event.Payload.(type) {
	case *execution.ExecutionQueued:
		working.State = sdk.TaskStateSubmitted
	case *execution.ExecutionStarted, *execution.InteractionReceived:
	case *execution.ExecutionSuspended:
		suspended := execution.Suspension{Reason: p.Reason, Detail: p.Detail}
		working.Message = said(t.view.ID, t.view.ConversationID, string(t.view.ID)+"-"+strconv.FormatUint(uint64(event.Sequence), 10),
			map[string]any{"suspended": string(p.Reason)}, sdk.TextPart{Text: suspensionText(suspended)})
	case *execution.InteractionRequired:
		return t.asked(ctx, event, *p)
	case *execution.ExecutionResumed, *execution.ExecutionCompleted, *execution.ExecutionFailed, *execution.ExecutionCanceled,
		*execution.UnreadableEvent: // which may have been a question, or the end
		return t.look(ctx, event)
	default:
		return nil, nil
	}
	return []sdk.Event{t.status(working, event.Sequence)}, nil
}

// asked tells of a question. One that is open ends the stream: the client answers it.
func (t *teller) asked(ctx context.Context, event execution.Event, p execution.InteractionRequired) ([]sdk.Event, error) {
	view, err := t.handler.link(ctx).Execution(ctx, t.view.ID)
	if err != nil {
		return nil, err
	}
	open := execution.Interaction{RequestID: p.RequestID, Kind: p.Kind, Prompt: p.Prompt}
	asks := view.Interaction != nil && view.Interaction.RequestID == p.RequestID
	if asks {
		open = *view.Interaction
	}
	t.view.UpdatedAtMs = event.OccurredAtMs
	update := t.status(question(t.view, open), event.Sequence)
	update.Final = asks && view.State == execution.WaitingForInput
	return []sdk.Event{update}, nil
}

// look tells what the execution is now, for events that do not say.
func (t *teller) look(ctx context.Context, event execution.Event) ([]sdk.Event, error) {
	view, err := t.handler.link(ctx).Execution(ctx, t.view.ID)
	if err != nil {
		return nil, err
	}
	status := statusOf(view)
	switch {
	case event.Payload.EventType().Terminal():
		return t.ended(view, event.Sequence), nil
	case view.State.Terminal(): // its end is yet to be told
		if event.Payload.EventType() == execution.TypeUnreadable {
			return nil, nil
		}
		status = sdk.TaskStatus{State: sdk.TaskStateWorking, Timestamp: at(event.OccurredAtMs)}
	}
	update := t.status(status, event.Sequence)
	update.Final = view.State == execution.WaitingForInput
	return []sdk.Event{update}, nil
}

// ended tells how an execution ended: its answer, as far as it was not told, and the last status.
func (t *teller) ended(view execution.View, sequence execution.Sequence) []sdk.Event {
	var all []sdk.Event
	if view.Outcome != nil {
		if t.length == 0 || t.text.String() != view.Outcome.Answer {
			all = t.pieces(view.Outcome.Answer, false)
		}
		for _, part := range outputParts(view.Outcome) {
			all = append(all, t.piece(true, part))
		}
		if len(all) == 0 {
			all = append(all, t.piece(true, sdk.TextPart{}))
		}
		if last, is := all[len(all)-1].(*sdk.TaskArtifactUpdateEvent); is {
			last.LastChunk = true
		}
	}
	return append(all, t.status(statusOf(view), sequence))
}
