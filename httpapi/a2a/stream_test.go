package a2a_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	sdk "github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2aclient"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/httpapi"
	"github.com/pawl-run/pawl/httpapi/a2a"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/journal/redisjournal"
	"github.com/pawl-run/pawl/link/linktest"
)

// following is what a stream brings, as it comes.
type following struct {
	t      testing.TB
	events chan sdk.Event
	failed chan error
	stop   context.CancelFunc
}

func follow(t testing.TB, open func(ctx context.Context, yield func(sdk.Event, error) bool)) *following {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	f := &following{t: t, events: make(chan sdk.Event, 1000), failed: make(chan error, 1), stop: cancel}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer close(f.events)
		open(ctx, func(event sdk.Event, err error) bool {
			if err != nil {
				f.failed <- err
				return false
			}
			f.events <- event
			return true
		})
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return f
}

func stream(t testing.TB, c *a2aclient.Client, m *sdk.Message) *following {
	t.Helper()
	return follow(t, func(ctx context.Context, yield func(sdk.Event, error) bool) {
		c.SendStreamingMessage(ctx, &sdk.MessageSendParams{Message: m})(yield)
	})
}

func resubscribe(t testing.TB, c *a2aclient.Client, id sdk.TaskID) *following {
	t.Helper()
	return follow(t, func(ctx context.Context, yield func(sdk.Event, error) bool) {
		c.ResubscribeToTask(ctx, &sdk.TaskIDParams{ID: id})(yield)
	})
}

// next is the next event; nil when the stream has ended.
func (f *following) next() sdk.Event {
	f.t.Helper()
	select {
	case event := <-f.events:
		return event
	case err := <-f.failed:
		require.NoError(f.t, err)
	case <-time.After(patience):
		require.Fail(f.t, "nothing comes")
	}
	return nil
}

func (f *following) task() *sdk.Task {
	f.t.Helper()
	task, is := f.next().(*sdk.Task)
	require.True(f.t, is)
	return task
}

func (f *following) status(want sdk.TaskState) *sdk.TaskStatusUpdateEvent {
	f.t.Helper()
	event := f.next()
	update, is := event.(*sdk.TaskStatusUpdateEvent)
	require.True(f.t, is, "%#v", event)
	require.Equal(f.t, want, update.Status.State)
	return update
}

// artifact puts the pieces of the answer together until the last one, and gives what came instead of the next piece.
func (f *following) artifact() (text string, other sdk.Event) {
	f.t.Helper()
	for {
		event := f.next()
		update, is := event.(*sdk.TaskArtifactUpdateEvent)
		if !is {
			return text, event
		}
		require.EqualValues(f.t, "answer", update.Artifact.ID)
		if !update.Append {
			text = ""
		}
		for _, part := range update.Artifact.Parts {
			if said, is := part.(sdk.TextPart); is {
				text += said.Text
			}
		}
	}
}

func (f *following) ends() {
	f.t.Helper()
	require.Nil(f.t, f.next(), "it ends")
	select {
	case err := <-f.failed:
		require.NoError(f.t, err)
	default:
	}
}

func frame(p *peer, task *sdk.Task, invocation string, offset int, text string) {
	p.t.Helper()
	_, err := p.store.PublishFrame(bounded(p.t), execution.ID(task.ID), execution.Frame{
		Type: execution.FrameTextDelta, Step: 3, InvocationID: invocation, Offset: offset, Text: text,
	})
	require.NoError(p.t, err)
}

func TestAStreamTellsEveryStateUpToTheAnswer(t *testing.T) {
	t.Parallel()
	p := serve(t, memory(t), change{})
	f := stream(t, p.client("demo"), message("m1", "hello"))
	task := f.task()
	require.Equal(t, sdk.TaskStateSubmitted, task.Status.State)
	w := p.worker(task)
	f.status(sdk.TaskStateWorking)
	w.Commit(journal.Then{Kind: journal.ThenContinue}, &execution.ModelStarted{Turn: 1, InvocationID: "i1"})
	frame(p, task, "i1", 0, "On")
	frame(p, task, "i1", 2, "e.")
	w.Commit(journal.Then{Kind: journal.ThenContinue}, &execution.Warning{Code: "test", Message: "not told"})
	w.Complete("One.")
	text, last := f.artifact()
	require.Equal(t, "One.", text)
	require.True(t, last.(*sdk.TaskStatusUpdateEvent).Final)
	require.Equal(t, sdk.TaskStateCompleted, last.(*sdk.TaskStatusUpdateEvent).Status.State)
	f.ends()
}

func TestAStreamedTextThatIsNotTheAnswerIsReplaced(t *testing.T) {
	t.Parallel()
	p := serve(t, memory(t), change{})
	f := stream(t, p.client("demo"), message("m1", "hello"))
	task := f.task()
	w := p.worker(task)
	f.status(sdk.TaskStateWorking)
	w.Commit(journal.Then{Kind: journal.ThenContinue}, &execution.ModelStarted{Turn: 1, InvocationID: "i1"})
	frame(p, task, "i1", 0, "Let me look.")
	require.False(t, f.next().(*sdk.TaskArtifactUpdateEvent).Append)
	frame(p, task, "i1", 100, "a piece behind one that was lost")
	frame(p, task, "i1", 4, "us look.")
	again := f.next().(*sdk.TaskArtifactUpdateEvent)
	require.False(t, again.Append)
	require.Equal(t, sdk.ContentParts{sdk.TextPart{Text: "Let us look."}}, again.Artifact.Parts)
	answer := strings.Repeat("ä", 40_000) // no line is longer than the SDK's client takes
	w.Complete(answer)
	text, last := f.artifact()
	require.Equal(t, answer, text)
	require.Equal(t, sdk.TaskStateCompleted, last.(*sdk.TaskStatusUpdateEvent).Status.State)
	f.ends()
}

func TestAStreamEndsWithAQuestionAndGoesOnWithTheAnswer(t *testing.T) {
	t.Parallel()
	p := serve(t, memory(t), change{})
	c := p.client("demo")
	f := stream(t, c, message("m1", "hello"))
	task := f.task()
	w := p.worker(task)
	f.status(sdk.TaskStateWorking)
	w.Ask(linktest.Unknown("r1"))
	asked := f.status(sdk.TaskStateInputRequired)
	require.True(t, asked.Final)
	require.Equal(t, "Again?", text(asked.Status.Message))
	whole := asked.Status.Message.Parts[1].(sdk.DataPart).Data["interaction"].(map[string]any)
	require.Equal(t, "approval", whole["kind"])
	require.Len(t, whole["calls"], 2)
	f.ends()

	g := resubscribe(t, c, task.ID) // whoever waits for somebody else's answer
	require.Equal(t, sdk.TaskStateInputRequired, g.task().Status.State)
	h := stream(t, c, to(task, message("m2", "approve")))
	require.Equal(t, sdk.TaskStateWorking, h.task().Status.State)
	for _, one := range []*following{g, h} {
		one.status(sdk.TaskStateWorking)
	}
	p.worker(task).Commit(journal.Then{Kind: journal.ThenEnd, Failure: &execution.Failure{Code: "c", Message: "m"}})
	for _, one := range []*following{g, h} {
		require.True(t, one.status(sdk.TaskStateFailed).Final)
		one.ends()
	}
}

func TestSuspensionAndResumptionAreTold(t *testing.T) {
	t.Parallel()
	p := serve(t, memory(t), change{})
	f := stream(t, p.client("demo"), message("m1", "hello"))
	task := f.task()
	id := execution.ID(task.ID)
	_, err := p.store.Pause(bounded(t), id)
	require.NoError(t, err)
	require.Contains(t, text(f.status(sdk.TaskStateWorking).Status.Message), "suspended (paused)")
	_, err = p.store.Resume(bounded(t), id, journal.Resumption{})
	require.NoError(t, err)
	f.status(sdk.TaskStateSubmitted)
	_, err = p.store.Cancel(bounded(t), id)
	require.NoError(t, err)
	require.True(t, f.status(sdk.TaskStateCanceled).Final)
	f.ends()
}

func TestAnIdleStreamBeatsOnLinesOfTheirOwn(t *testing.T) {
	t.Parallel()
	p := serve(t, memory(t), change{})
	task := send(t, p.client("demo"), message("m1", "hello"))
	request, err := http.NewRequestWithContext(bounded(t), http.MethodPost, p.URL+"/a2a/demo", strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"tasks/resubscribe","params":{"id":"`+string(task.ID)+`"}}`))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	lines, body := bufio.NewReader(response.Body), ""
	for beats := 0; beats < 3; {
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		if body += line; line == ":\n" {
			beats++
		}
	}
	p.worker(task).Complete("done")
	rest, err := io.ReadAll(lines)
	require.NoError(t, err)
	body += string(rest)
	require.Contains(t, body, "\n:\n")
	require.NotContains(t, body, "\n:\n\n", "an empty line would be an event")
	require.True(t, strings.HasPrefix(body, "id: 1\ndata: {"), body)
}

// followed are the sequences of what a stream tells, from where a client stands, up to the end.
func followedFrom(t *testing.T, p *peer, task *sdk.Task, last string) (told []string, ended bool) {
	t.Helper()
	f := resubscribe(t, p.client("demo", "Last-Event-ID: "+last), task.ID)
	for event := f.next(); event != nil; event = f.next() {
		update, is := event.(*sdk.TaskStatusUpdateEvent)
		if !is {
			continue
		}
		told = append(told, fmt.Sprintf("%.0f %s", update.Metadata["pawl.sequence"], update.Status.State))
		ended = update.Final
	}
	return told, ended
}

func TestAClientGoesOnWhereItStands(t *testing.T) {
	t.Parallel()
	p := serve(t, memory(t), change{})
	task := send(t, p.client("demo"), message("m1", "hello"))
	w := p.worker(task)
	w.Warnings(3)
	w.Ask(linktest.Elicitation("r1"))
	send(t, p.client("demo"), to(task, message("m2", "yes")))
	p.worker(task).Complete("done")
	all := []string{"1 submitted", "2 working", "6 input-required", "7 working", "8 completed"}
	for last, from := range map[string]int{"0": 0, "1": 1, "2": 2, "4": 2, "6": 3, "7": 4, "8": 4} {
		told, ended := followedFrom(t, p, task, last)
		require.Equal(t, all[from:], told, "behind %s", last)
		require.True(t, ended)
	}
	for _, wrong := range []string{"x", "-1", "999"} {
		f := resubscribe(t, p.client("demo", "Last-Event-ID: "+wrong), task.ID)
		require.Error(t, <-f.failed, wrong)
	}
}

// restartLosesNothing cuts the stream of a client by the end of its replica, and lets it go on at another one, over one
// store. What it is told by both is all that there is.
func restartLosesNothing(t *testing.T, first, second journal.Store) {
	t.Helper()
	old, fresh := serve(t, first, change{}), serve(t, second, change{})
	f := stream(t, old.client("demo"), message("m1", "hello"))
	task := f.task()
	w := old.worker(task)
	last := f.status(sdk.TaskStateWorking)
	old.server.Drain()
	f.ends()
	w.Warnings(2)
	w.Ask(linktest.Elicitation("r1"))
	g := resubscribe(t, fresh.client("demo", fmt.Sprintf("Last-Event-ID: %.0f", last.Metadata["pawl.sequence"])), task.ID)
	require.True(t, g.status(sdk.TaskStateInputRequired).Final)
	g.ends()
	h := resubscribe(t, fresh.client("demo"), task.ID)
	require.Equal(t, sdk.TaskStateInputRequired, h.task().Status.State)
	send(t, fresh.client("demo"), to(task, message("m2", "yes")))
	h.status(sdk.TaskStateWorking)
	fresh.worker(task).Complete("done")
	answer, end := h.artifact()
	require.Equal(t, "done", answer)
	require.True(t, end.(*sdk.TaskStatusUpdateEvent).Final)
	h.ends()
	i := resubscribe(t, fresh.client("demo"), task.ID)
	require.Equal(t, sdk.TaskStateCompleted, i.task().Status.State)
	answer, _ = i.artifact()
	require.Equal(t, "done", answer)
	i.ends()
}

func TestARestartInTheMiddleOfAStreamLosesNothing(t *testing.T) {
	t.Parallel()
	store := memory(t)
	restartLosesNothing(t, store, store)
}

// onRedis is a store as one process has it.
func onRedis(t *testing.T, prefix string) *redisjournal.Store {
	t.Helper()
	store, err := redisjournal.New(redistest.Shared(t).Client(t), redisjournal.Config{Prefix: prefix, Logger: quiet()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

func TestARestartInTheMiddleOfAStreamLosesNothingOverRedis(t *testing.T) {
	t.Parallel()
	prefix := redistest.Prefix()
	restartLosesNothing(t, onRedis(t, prefix), onRedis(t, prefix))
}

func TestAStreamEndsWhenItsCallersCredentialDoes(t *testing.T) {
	t.Parallel()
	good := make(chan struct{})
	p := serve(t, memory(t), change{
		face: func(c *a2a.Config) { c.Secured = true },
		http: func(c *httpapi.Config) { c.Recheck = 10 * time.Millisecond; c.Access = &revocable{good: good} },
	})
	require.Equal(t, sdk.SecuritySchemeScopes{}, p.card("/a2a/demo/.well-known/agent-card.json").Security[0]["bearer"])
	f := stream(t, p.client("demo"), message("m1", "hello"))
	f.task()
	close(good)
	f.ends()
	_, err := trySend(t, p.client("demo"), message("m2", "hello"))
	require.Error(t, err)
	require.False(t, errors.Is(err, sdk.ErrTaskNotFound))
}
