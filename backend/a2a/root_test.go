package a2a_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	sdk "github.com/a2aproject/a2a-go/a2a"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/backend/a2a"
	"github.com/pawl-run/pawl/backend/a2a/a2atest"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

func TestTheTaskIsKnownBeforeAnythingIsWaitedFor(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	r, peer := remote(t, a2atest.Until(done, "It rains."))
	first := r.must("How is the weather?")
	require.Equal(t, backend.StatusSuspended, first.Status.Kind)
	require.True(t, awaiting(first))
	require.Equal(t, backend.TermSuspended, first.Termination.Kind)
	require.Equal(t, 250*time.Millisecond, first.After)
	handle := r.handle()
	require.NotEmpty(t, handle["taskId"])
	require.Equal(t, "working", handle["phase"])
	require.Equal(t, "0.3.0", handle["protocol"])
	require.EqualValues(t, 1, handle["v"])

	again := r.must()
	require.True(t, awaiting(again))
	require.Equal(t, 500*time.Millisecond, again.After, "the next look comes later")
	require.Equal(t, time.Second, r.must().After)
	close(done)
	last := r.finish(r.must())
	require.Equal(t, backend.CompletedStatus(), last.Status)
	require.Equal(t, backend.NaturalEnd, last.Termination.Kind)
	require.Equal(t, "It rains.", *last.Output.Text)
	require.Equal(t, 1, last.Steps)
	require.Equal(t, 1, peer.Tasks())
	require.Equal(t, 1, peer.Calls(a2atest.Send))
	require.Equal(t, 1, peer.Calls(a2atest.Card), "the card is read once")

	sent := peer.Sent(t)[0]
	require.False(t, *sent.Config.Blocking)
	require.Equal(t, string(r.id)+".1", sent.Message.ID)
	require.Empty(t, sent.Message.ContextID, "the remote names its contexts")
	require.Empty(t, sent.Message.TaskID, "and its tasks")
	require.Equal(t, sdk.MessageRoleUser, sent.Message.Role)
	require.Equal(t, sdk.ContentParts{sdk.TextPart{Text: "How is the weather?"}}, sent.Message.Parts)
}

func TestCaseK5_AProcessThatDiesIsReplacedByOneThatLooksAtTheSameTask(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	r, peer := remote(t, a2atest.Until(done, "done"))
	r.must("work")
	for range 3 { // each a process of its own: nothing but the kept bytes is known
		r.backend = build(t, a2a.Config{}, endpoint(peer.URL, nil))
		require.True(t, awaiting(r.must()))
	}
	close(done)
	require.Equal(t, "done", *r.finish(r.must()).Output.Text)
	require.Equal(t, 1, peer.Tasks())
	require.Equal(t, 1, peer.Calls(a2atest.Send), "nothing is sent again")
}

func TestACallThatIsMadeAgainHasTheSameMessage(t *testing.T) {
	t.Parallel()
	for name, operation := range map[string]string{"of the run": "", "of the operation": "exec_1:2:3"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, peer := remote(t, a2atest.Completing("hi"))
			r.operation = operation
			for range 2 { // killed between the answer and the write of the state
				_, err := r.backend.ExecuteRoot(t.Context(), r.request("hello"))
				require.NoError(t, err)
				r.transcript = nil
			}
			sent := peer.Sent(t)
			require.Equal(t, sent[0].Message.ID, sent[1].Message.ID)
			require.Equal(t, 2, peer.Tasks(), "this peer recognizes nothing: the documented duplicate")
			if operation != "" {
				require.Equal(t, operation, sent[0].Message.ID)
			}
		})
	}
}

func TestEveryStateOfATask(t *testing.T) {
	t.Parallel()
	for state, want := range map[sdk.TaskState]struct {
		status backend.RunStatus
		end    backend.TerminationKind
		reason string
	}{
		sdk.TaskStateCompleted:     {backend.CompletedStatus(), backend.NaturalEnd, ""},
		sdk.TaskStateFailed:        {backend.FailedStatus("the remote agent failed: so it is"), backend.TermError, ""},
		sdk.TaskStateRejected:      {backend.FailedStatus("the remote agent rejected the message: so it is"), backend.TermError, "rejected"},
		sdk.TaskStateCanceled:      {backend.CanceledStatus(), backend.TermCanceled, ""},
		sdk.TaskStateInputRequired: {backend.WaitingInputStatus(ptr("so it is")), backend.TermSuspended, "input_required"},
		sdk.TaskStateAuthRequired:  {backend.WaitingAuthStatus(ptr("so it is")), backend.TermSuspended, "auth_required"},
		sdk.TaskStateSubmitted:     {backend.SuspendedStatus(nil), backend.TermSuspended, backend.AwaitingTasks},
		sdk.TaskStateWorking:       {backend.SuspendedStatus(nil), backend.TermSuspended, backend.AwaitingTasks},
		sdk.TaskStateUnknown:       {backend.SuspendedStatus(nil), backend.TermSuspended, backend.AwaitingTasks},
		"dreaming":                 {backend.SuspendedStatus(nil), backend.TermSuspended, backend.AwaitingTasks},
	} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			r, peer := remote(t, a2atest.Completing("unused"))
			task := &sdk.Task{ID: "t1", ContextID: "c1", Status: sdk.TaskStatus{
				State: state, Message: sdk.NewMessage(sdk.MessageRoleAgent, sdk.TextPart{Text: "so it is"}),
			}}
			answerWith(peer, a2atest.Send, &sdk.Task{ID: "t1", ContextID: "c1", Status: sdk.TaskStatus{State: sdk.TaskStateSubmitted}}, task)
			r.must("go")
			result := r.must()
			require.Equal(t, want.status, result.Status)
			require.Equal(t, want.end, result.Termination.Kind)
			if want.reason == "" {
				require.Nil(t, result.StatusReason)
			} else {
				require.Equal(t, want.reason, *result.StatusReason)
			}
			require.Equal(t, "c1", r.handle()["contextId"])
		})
	}
}

func TestAnAgentMayAnswerWithoutATask(t *testing.T) {
	t.Parallel()
	r, peer := remote(t, func(ctx context.Context, s *a2atest.Session) error {
		return s.Say(ctx, sdk.TextPart{Text: "Hel"}, sdk.TextPart{Text: "lo"}, sdk.DataPart{Data: map[string]any{"mood": "good"}})
	})
	result := r.must("hi")
	require.Equal(t, backend.CompletedStatus(), result.Status)
	require.Equal(t, "Hello", *result.Output.Text)
	require.Len(t, result.Output.Artifacts, 1)
	require.JSONEq(t, `{"mood":"good"}`, string(result.Output.Artifacts[0].Content))
	require.Equal(t, "ended", r.handle()["phase"])
	require.Nil(t, r.handle()["taskId"])
	require.NoError(t, r.abort())
	require.Zero(t, peer.Calls(a2atest.Cancel))
}

func TestArtifactsInPieces(t *testing.T) {
	t.Parallel()
	r, _ := remote(t, func(ctx context.Context, s *a2atest.Session) error {
		for _, step := range []error{
			s.Submit(ctx),
			s.Artifact(ctx, "a", "poem", false, sdk.TextPart{Text: "Roses "}),
			s.Artifact(ctx, "a", "poem", true, sdk.TextPart{Text: "are red."}),
			s.Artifact(ctx, "b", "", false, sdk.DataPart{Data: map[string]any{"lines": 1}}),
			s.Artifact(ctx, "c", "image", false, sdk.FilePart{File: sdk.FileURI{URI: "https://a.example/x.png", FileMeta: sdk.FileMeta{MimeType: "image/png"}}}),
			s.Artifact(ctx, "d", "", false, sdk.TextPart{Text: "Violets too."}, sdk.DataPart{Data: map[string]any{"n": 2}}),
		} {
			if step != nil {
				return step
			}
		}
		return s.Become(ctx, sdk.TaskStateCompleted, "That is all.")
	})
	output := r.finish(r.must("a poem")).Output
	require.Equal(t, "Roses are red.\n\nViolets too.", *output.Text)
	got, err := json.Marshal(output.Artifacts)
	require.NoError(t, err)
	require.JSONEq(t, `[
		{"id": "a", "name": "poem", "mediaType": "text/plain", "content": "Roses are red."},
		{"id": "b", "mediaType": "application/json", "content": {"lines": 1}},
		{"id": "c", "name": "image", "mediaType": "image/png", "content": {"uri": "https://a.example/x.png", "mimeType": "image/png"}},
		{"id": "d", "content": [{"kind": "text", "text": "Violets too."}, {"kind": "data", "data": {"n": 2}}]}
	]`, string(got))
}

func TestTheAnswerMayBeInTheStatusOrTheHistory(t *testing.T) {
	t.Parallel()
	agentSays := sdk.NewMessage(sdk.MessageRoleAgent, sdk.TextPart{Text: "said"})
	for name, task := range map[string]*sdk.Task{
		"status":  {ID: "t", ContextID: "c", Status: sdk.TaskStatus{State: sdk.TaskStateCompleted, Message: agentSays}},
		"history": {ID: "t", ContextID: "c", Status: sdk.TaskStatus{State: sdk.TaskStateCompleted}, History: []*sdk.Message{agentSays}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, peer := remote(t, a2atest.Completing("unused"))
			answerWith(peer, a2atest.Send, task, task)
			require.Equal(t, "said", *r.must("go").Output.Text)
		})
	}
}

// asking is an agent that asks for a color, and says what it heard.
func asking(state sdk.TaskState) a2atest.Script {
	return func(ctx context.Context, s *a2atest.Session) error {
		if !s.Again {
			if err := s.Submit(ctx); err != nil {
				return err
			}
			return s.Become(ctx, state, "Which color?")
		}
		if err := s.Artifact(ctx, "x", "", false, sdk.TextPart{Text: "painted " + s.Text}); err != nil {
			return err
		}
		return s.Become(ctx, sdk.TaskStateCompleted, "")
	}
}

func TestAnAnswerGoesToTheTaskThatAsked(t *testing.T) {
	t.Parallel()
	for state, kind := range map[sdk.TaskState]backend.StatusKind{
		sdk.TaskStateInputRequired: backend.StatusWaitingInput, sdk.TaskStateAuthRequired: backend.StatusWaitingAuth,
	} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			r, peer := remote(t, asking(state))
			question := r.finish(r.must("paint"))
			require.Equal(t, kind, question.Status.Kind)
			require.Equal(t, "Which color?", *question.Status.Message)
			task := r.handle()["taskId"]
			r.backend = build(t, a2a.Config{}, endpoint(peer.URL, nil)) // the answer may come days later
			result := r.finish(r.must("red"))
			require.Equal(t, backend.CompletedStatus(), result.Status)
			require.Equal(t, "painted red", *result.Output.Text)
			require.Equal(t, 1, peer.Tasks())
			sent := peer.Sent(t)
			require.Equal(t, task, string(sent[1].Message.TaskID))
			require.Equal(t, string(r.id)+".2", sent[1].Message.ID)
		})
	}
}

func TestATaskThatHasItsCredentialsGoesOnByItself(t *testing.T) {
	t.Parallel()
	r, peer := remote(t, a2atest.Completing("unused"))
	state := func(s sdk.TaskState) *sdk.Task {
		return &sdk.Task{ID: "t", ContextID: "c", Status: sdk.TaskStatus{State: s}}
	}
	answerWith(peer, a2atest.Send, state(sdk.TaskStateAuthRequired), state(sdk.TaskStateCompleted))
	require.Equal(t, "The remote agent asks for credentials.", *r.must("go").Status.Message)
	require.Equal(t, backend.CompletedStatus(), r.must("I have logged in").Status)
	require.Equal(t, 1, peer.Calls(a2atest.Send))
}

func TestTheNextRunOfAConversationGoesOnInItsContext(t *testing.T) {
	t.Parallel()
	r, peer := remote(t, a2atest.Completing("hi"))
	r.finish(r.must("hello"))
	context := r.handle()["contextId"]
	next := newRun(t, r.backend)
	next.talk, next.state = r.talk, r.state
	next.finish(next.must("again"))
	sent := peer.Sent(t)
	require.Equal(t, context, sent[1].Message.ContextID)
	require.Empty(t, sent[1].Message.TaskID, "an ended task takes no message")
	require.Equal(t, string(next.id)+".1", sent[1].Message.ID)

	fork := newRun(t, r.backend) // of another conversation
	fork.state = r.state
	fork.finish(fork.must("elsewhere"))
	require.Empty(t, peer.Sent(t)[2].Message.ContextID)
}

func TestATaskOfAnEarlierRunThatTakesNoMessageIsReplaced(t *testing.T) {
	t.Parallel()
	r, peer := remote(t, asking(sdk.TaskStateInputRequired))
	r.finish(r.must("paint"))
	r.aborted() // the earlier run was canceled while it waited
	next := newRun(t, r.backend)
	next.talk, next.state = r.talk, r.state
	result := next.finish(next.must("paint something else"))
	require.Equal(t, backend.StatusWaitingInput, result.Status.Kind)
	require.Equal(t, 2, peer.Tasks())
}

func TestOnlyWhatUsersSayIsSent(t *testing.T) {
	t.Parallel()
	r, peer := remote(t, a2atest.Completing("hi"))
	request := r.request()
	request.NewMessages = []backend.Message{
		{Message: execution.Message{Role: execution.RoleAssistant, Text: "not this"}},
		{Message: execution.Message{Role: execution.RoleUser, Parts: []execution.Part{
			{Type: execution.PartText, Text: "look"},
			{Type: execution.PartImageURL, URL: "https://a.example/b.png"},
			{Type: execution.PartImage, MediaType: "image/png", Data: "AAAA"},
			{Type: execution.PartText, Text: " "},
		}}},
		{Message: execution.Message{Role: execution.RoleTool, ToolResult: &execution.ToolResult{}}},
		user("please"),
	}
	_, err := r.backend.ExecuteRoot(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, sdk.ContentParts{
		sdk.TextPart{Text: "look"},
		sdk.FilePart{File: sdk.FileURI{URI: "https://a.example/b.png"}},
		sdk.FilePart{File: sdk.FileBytes{Bytes: "AAAA", FileMeta: sdk.FileMeta{MimeType: "image/png"}}},
		sdk.TextPart{Text: "please"},
	}, peer.Sent(t)[0].Message.Parts)

	request.NewMessages = request.NewMessages[:1]
	_, err = r.backend.ExecuteRoot(t.Context(), request)
	require.EqualError(t, err, "execution failed: there is no text of a user to send to the remote agent")
	require.Equal(t, 1, peer.Calls(a2atest.Send))
}

func TestATaskThatTheRemoteHasForgottenIsNotBegunAgain(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	defer close(done)
	r, peer := remote(t, a2atest.Until(done, "never"))
	r.must("work")
	restarted := a2atest.New(t, a2atest.Completing("another")) // an agent that kept nothing
	r.backend = build(t, a2a.Config{}, endpoint(restarted.URL, nil))
	_, err := r.call()
	classified(t, err, local.Permanent, a2a.CodeTaskLost)
	require.Zero(t, restarted.Tasks())
	require.Equal(t, 1, peer.Tasks())
}

func TestAStateOfALaterVersionIsRefused(t *testing.T) {
	t.Parallel()
	r, peer := remote(t, a2atest.Completing("hi"))
	r.state = []byte(`{"revision":1,"extensions":{"__runtime_a2a":{"v":2,"run":["of","another","shape"]}}}`)
	_, err := r.call("go")
	require.ErrorIs(t, err, execution.ErrNewer, "another worker goes on with it")
	require.ErrorIs(t, r.abort(), execution.ErrNewer)
	for state, want := range map[string]string{
		`{"revision":1,"extensions":{"__runtime_a2a":{"v":-2}}}`:  "execution failed: the state of the remote run has version -2, which this program does not know",
		`{"revision":1,"extensions":{"__runtime_a2a":"nothing"}}`: "execution failed: the state of the remote run cannot be read",
	} {
		r.state = []byte(state)
		_, err := r.call("go")
		require.EqualError(t, err, want)
		require.EqualError(t, r.abort(), want)
	}
	require.Zero(t, peer.Calls(""))
}

func ptr(text string) *string { return &text }
