package a2a

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"time"

	sdk "github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2asrv"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/auth"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/link"
)

// handler is one published agent as its callers see it. The caller is that of the visit that the context carries.
type handler struct {
	face  *Face
	agent *agent.Definition
}

var _ a2asrv.RequestHandler = (*handler)(nil)

// metaMessage is where an execution keeps the id of the message that began it.
const metaMessage = "a2a.messageId"

func (h *handler) link(ctx context.Context) link.RuntimeLink {
	return h.face.cfg.Link.As(auth.From(ctx).Authority)
}

// see is the task of that id, if it is one of this agent that the caller may see.
func (h *handler) see(ctx context.Context, id sdk.TaskID) (execution.View, error) {
	standing, err := h.standing(ctx, id)
	return standing.View, err
}

// standing is see, and where the task's log and its history end.
func (h *handler) standing(ctx context.Context, id sdk.TaskID) (link.Standing, error) {
	if id == "" {
		return link.Standing{}, bad("id", "is required")
	}
	if _, err := execution.ParseID(string(id)); err != nil {
		return link.Standing{}, sdk.ErrTaskNotFound
	}
	standing, err := h.face.cfg.Link.Standing(ctx, auth.From(ctx).Authority, execution.ID(id))
	switch {
	case err != nil:
		return standing, problem(err)
	case standing.View.Agent != h.agent.Name:
		return standing, sdk.ErrTaskNotFound
	default:
		return standing, nil
	}
}

// OnGetTask implements a2asrv.RequestHandler.
func (h *handler) OnGetTask(ctx context.Context, query *sdk.TaskQueryParams) (*sdk.Task, error) {
	view, err := h.see(ctx, query.ID)
	if err != nil {
		return nil, err
	}
	length := defaultHistory
	if query.HistoryLength != nil {
		length = *query.HistoryLength
	}
	return h.task(ctx, view, length)
}

// task is an execution as a task with so many of the newest messages.
func (h *handler) task(ctx context.Context, view execution.View, history int) (*sdk.Task, error) {
	if history < 0 {
		return nil, bad("historyLength", "must not be negative")
	}
	task := taskOf(view)
	var err error
	if task.History, err = h.history(ctx, view, history); err != nil {
		return nil, problem(err)
	}
	return task, nil
}

// OnCancelTask implements a2asrv.RequestHandler. A task that was canceled is canceled again without an error.
func (h *handler) OnCancelTask(ctx context.Context, params *sdk.TaskIDParams) (*sdk.Task, error) {
	view, err := h.see(ctx, params.ID)
	if err != nil {
		return nil, err
	}
	steered, err := h.link(ctx).Cancel(ctx, view.ID)
	if errors.Is(err, execution.ErrConflict) {
		return nil, fmt.Errorf("%w: it is ending", sdk.ErrTaskNotCancelable)
	}
	if err != nil {
		return nil, problem(err)
	}
	view, err = h.until(ctx, steered.View, h.face.cfg.CancelWait, execution.State.Terminal)
	switch {
	case err != nil:
		return nil, problem(err)
	case view.State == execution.Completed, view.State == execution.Failed:
		return nil, fmt.Errorf("%w: it is %s", sdk.ErrTaskNotCancelable, view.State)
	default:
		return taskOf(view), nil
	}
}

// until waits until a state is one that is waited for, at most so long.
func (h *handler) until(
	ctx context.Context, view execution.View, d time.Duration, done func(execution.State) bool,
) (execution.View, error) {
	for end := time.Now().Add(d); !done(view.State); {
		left := time.Until(end)
		if left <= 0 {
			break
		}
		var err error
		if view, err = h.link(ctx).Wait(ctx, view.ID, view.Version, min(left, link.MaxWait)); err != nil {
			return view, err
		}
	}
	return view, nil
}

// OnSendMessage implements a2asrv.RequestHandler. A blocking one waits until the task has ended, or goes on only when
// somebody does something; after Config.Wait it answers what the task is then.
func (h *handler) OnSendMessage(ctx context.Context, params *sdk.MessageSendParams) (sdk.SendMessageResult, error) {
	taken, err := h.take(ctx, params)
	if err != nil {
		return nil, err
	}
	view, config := taken.view, params.Config
	if config == nil || config.Blocking == nil || *config.Blocking {
		settled := func(state execution.State) bool { return state.Terminal() || interrupted(state) }
		waited, err := h.until(ctx, view, h.face.cfg.Wait, settled)
		switch {
		case err == nil:
			view = waited
		case ctx.Err() == nil, refused(ctx) != nil:
			return nil, problem(errors.Join(refused(ctx), err))
		} // else the server drains, or the client has gone: what it is now
	}
	return h.task(context.WithoutCancel(ctx), view, historyOf(config))
}

// refused is why a context ended, when that was the caller's credential.
func refused(ctx context.Context) error {
	var api *execution.APIError
	if errors.As(context.Cause(ctx), &api) {
		return api
	}
	return nil
}

func historyOf(config *sdk.MessageSendConfig) int {
	if config == nil || config.HistoryLength == nil {
		return 0
	}
	return *config.HistoryLength
}

// taken is a task that took a message.
type taken struct {
	view execution.View
	// after is the sequence up to which the view tells everything.
	after execution.Sequence
}

// take begins a task with a message, or answers the question of one.
func (h *handler) take(ctx context.Context, params *sdk.MessageSendParams) (taken, error) {
	if err := checkMessage(params.Message); err != nil {
		return taken{}, err
	}
	var config *sdk.PushConfig
	if params.Config != nil {
		if historyOf(params.Config) < 0 {
			return taken{}, bad("configuration.historyLength", "must not be negative")
		}
		if config = params.Config.PushConfig; config != nil {
			if err := h.face.checkPush("configuration.pushNotificationConfig.", config); err != nil {
				return taken{}, err
			}
		}
	}
	take := h.begin
	if params.Message.TaskID != "" {
		take = h.answer
	}
	t, err := take(ctx, params.Message)
	if err == nil && config != nil {
		err = h.keep(ctx, t.view, config)
	}
	return t, err
}

// begin submits an execution.
func (h *handler) begin(ctx context.Context, message *sdk.Message) (taken, error) {
	input, err := userMessage(message.Parts)
	if err != nil {
		return taken{}, err
	}
	created, err := h.link(ctx).Create(ctx, named("a2a:", h.agent.Name, message.ID), execution.CreateRequest{
		Agent: h.agent.Name, Input: input, ConversationID: execution.ConversationID(message.ContextID),
		Metadata: map[string]string{metaMessage: message.ID},
	})
	if err != nil {
		return taken{}, problem(err)
	}
	if !created.Replayed {
		return taken{created.View, 1}, nil // the log holds what says that it was submitted
	}
	return h.stand(ctx, sdk.TaskID(created.View.ID))
}

// stand is a task and up to where in the log its view tells everything.
func (h *handler) stand(ctx context.Context, id sdk.TaskID) (taken, error) {
	standing, err := h.standing(ctx, id)
	return taken{standing.View, standing.Last}, err
}

// answer gives the answer to a task's open question.
func (h *handler) answer(ctx context.Context, message *sdk.Message) (taken, error) {
	t, err := h.stand(ctx, message.TaskID)
	if err != nil {
		return t, err
	}
	if message.ContextID != "" && message.ContextID != string(t.view.ConversationID) {
		return t, bad("message.contextId", "the task belongs to another context: %s", t.view.ConversationID)
	}
	said, err := contentOf(message.Parts)
	if err != nil {
		return t, err
	}
	open := t.view.Interaction
	if open == nil || t.view.State != execution.WaitingForInput {
		return h.again(ctx, t, message)
	}
	input, err := answerTo(*open, said)
	if err != nil {
		if repeated, again := h.again(ctx, t, message); again == nil {
			return repeated, nil
		}
		return t, err
	}
	view, err := h.link(ctx).SubmitInput(ctx, t.view.ID, execution.SubmitInput{
		OperationID: operation(message), Input: input,
	})
	if usedBefore(err) { // the message answered another question: it was sent again
		return h.stand(ctx, sdk.TaskID(t.view.ID))
	}
	if err != nil {
		return t, problem(err)
	}
	return taken{view, t.after}, nil
}

// nobody is a question that nothing asks: an answer to it tells whether its operation was carried out before.
const nobody execution.RequestID = "-"

// again takes a message to a task that asks nothing, which is fine if it was taken before.
func (h *handler) again(ctx context.Context, t taken, message *sdk.Message) (taken, error) {
	_, err := h.link(ctx).SubmitInput(ctx, t.view.ID, execution.SubmitInput{
		OperationID: operation(message),
		Input:       execution.Input{Type: execution.ElicitationResponse, RequestID: nobody, Text: "-"},
	})
	switch {
	case usedBefore(err):
		return h.stand(ctx, sdk.TaskID(t.view.ID))
	case err == nil, errors.Is(err, execution.ErrConflict):
		if t.view.State.Terminal() {
			return t, cannot("the task is %s; leave taskId out to begin another one in its context", t.view.State)
		}
		return t, cannot("the task is %s and asks nothing now", t.view.State)
	default:
		return t, problem(err)
	}
}

// operation is the name of an answer: that of its message.
func operation(message *sdk.Message) execution.OperationID {
	return execution.OperationID(named("a2a:", message.ID))
}

// usedBefore reports whether the operation was carried out with other content.
func usedBefore(err error) bool {
	var api *execution.APIError
	return errors.As(err, &api) && api.Code == execution.Conflict && api.Field == "operationId"
}

// named is a name for texts of any length and characters.
func named(prefix string, texts ...string) string {
	hash := sha256.New()
	for _, text := range texts {
		_, _ = fmt.Fprintf(hash, "%d:%s", len(text), text) // a hash never fails to write
	}
	return prefix + hex.EncodeToString(hash.Sum(nil))
}

// OnSendMessageStream implements a2asrv.RequestHandler: the task, and then what becomes of it.
func (h *handler) OnSendMessageStream(ctx context.Context, params *sdk.MessageSendParams) iter.Seq2[sdk.Event, error] {
	return func(yield func(sdk.Event, error) bool) {
		t, err := h.take(ctx, params)
		if err != nil {
			yield(nil, err)
			return
		}
		h.tell(ctx, t, historyOf(params.Config), yield)
	}
}

// OnResubscribeToTask implements a2asrv.RequestHandler: what follows the event that the client had last (Last-Event-ID), else
// the task as it is and what follows that.
func (h *handler) OnResubscribeToTask(ctx context.Context, params *sdk.TaskIDParams) iter.Seq2[sdk.Event, error] {
	return func(yield func(sdk.Event, error) bool) {
		t, err := h.stand(ctx, params.ID)
		if err != nil {
			yield(nil, err)
			return
		}
		after, named, err := lastEvent(ctx, params.Metadata)
		if err != nil {
			yield(nil, err)
			return
		}
		if named {
			h.follow(ctx, t.view, after, yield)
			return
		}
		h.tell(ctx, t, 0, yield)
	}
}

// OnGetExtendedAgentCard implements a2asrv.RequestHandler: a card holds all that there is to know.
func (h *handler) OnGetExtendedAgentCard(context.Context) (*sdk.AgentCard, error) {
	return nil, sdk.ErrAuthenticatedExtendedCardNotConfigured
}
