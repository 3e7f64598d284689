package a2a_test

import (
	"encoding/json"
	"testing"

	sdk "github.com/a2aproject/a2a-go/a2a"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/link/linktest"
)

func TestACardSaysHowAnAgentIsReached(t *testing.T) {
	t.Parallel()
	p := serve(t, memory(t), change{})
	card := p.card("/a2a/demo/.well-known/agent-card.json")
	require.Equal(t, "0.3.0", card.ProtocolVersion)
	require.Equal(t, "Demo", card.Name)
	require.Equal(t, p.URL+"/a2a/demo", card.URL)
	require.Equal(t, sdk.TransportProtocolJSONRPC, card.PreferredTransport)
	require.True(t, card.Capabilities.Streaming)
	require.True(t, card.Capabilities.PushNotifications)
	require.Equal(t, "book", card.Skills[0].ID)
	require.Empty(t, card.Security, "nobody shows a credential here")
	second := p.card("/a2a/priced/.well-known/agent-card.json")
	require.Equal(t, "priced", second.Name, "its own name, when it has no other")
	require.Equal(t, []string{"text/plain", "application/json"}, second.DefaultOutputModes)
	require.Len(t, second.Skills, 1)
}

func TestATaskIsSubmittedWorksAndCompletes(t *testing.T) {
	t.Parallel()
	p := serve(t, memory(t), change{})
	c := p.client("demo")
	task := send(t, c, message("m1", "Oslo, please"))
	require.Equal(t, sdk.TaskStateSubmitted, task.Status.State)
	require.NotEmpty(t, task.ContextID)
	w := p.worker(task)
	require.Equal(t, sdk.TaskStateWorking, get(t, c, task).Status.State)
	w.Commit(journal.Then{Kind: journal.ThenEnd, Outcome: &execution.Outcome{Answer: `{"a":1}`, Output: json.RawMessage(`{"a":1}`)}})
	done := get(t, c, task)
	require.Equal(t, sdk.TaskStateCompleted, done.Status.State)
	require.Len(t, done.Artifacts, 1)
	require.Equal(t, sdk.ContentParts{
		sdk.TextPart{Text: `{"a":1}`}, sdk.DataPart{Data: map[string]any{"a": 1.0}},
	}, done.Artifacts[0].Parts)
	require.Equal(t, "Oslo, please", text(done.History[0]))
	require.Equal(t, sdk.MessageRoleUser, done.History[0].Role)
	none := 0
	short, err := c.GetTask(bounded(t), &sdk.TaskQueryParams{ID: task.ID, HistoryLength: &none})
	require.NoError(t, err)
	require.Empty(t, short.History)
}

func TestATaskFailsAndSaysWhy(t *testing.T) {
	t.Parallel()
	p := serve(t, memory(t), change{})
	c := p.client("demo")
	task := send(t, c, message("m1", "hello"))
	p.worker(task).Commit(journal.Then{Kind: journal.ThenEnd, Failure: &execution.Failure{Code: "model_error", Message: "It broke."}})
	failed := get(t, c, task)
	require.Equal(t, sdk.TaskStateFailed, failed.Status.State)
	require.Equal(t, "It broke. (model_error)", text(failed.Status.Message))
	require.Equal(t, "model_error", failed.Status.Message.Metadata["code"])
}

func TestATaskIsCanceledAtOnceAndOnlyOnce(t *testing.T) {
	t.Parallel()
	p := serve(t, memory(t), change{})
	c := p.client("demo")
	task := send(t, c, message("m1", "hello"))
	for range 2 {
		canceled, err := c.CancelTask(bounded(t), &sdk.TaskIDParams{ID: task.ID})
		require.NoError(t, err)
		require.Equal(t, sdk.TaskStateCanceled, canceled.Status.State)
	}
	done := send(t, c, message("m2", "hello"))
	p.worker(done).Complete("done")
	_, err := c.CancelTask(bounded(t), &sdk.TaskIDParams{ID: done.ID})
	require.ErrorIs(t, err, sdk.ErrTaskNotCancelable)
}

func TestASuspendedTaskWorksAndSaysThatSomebodyMustResumeIt(t *testing.T) {
	t.Parallel()
	p := serve(t, memory(t), change{})
	c := p.client("demo")
	task := send(t, c, message("m1", "hello"))
	p.worker(task).Commit(journal.Then{Kind: journal.ThenSuspend, Suspension: execution.Suspension{Reason: execution.ReasonPolicy}})
	suspended := get(t, c, task)
	require.Equal(t, sdk.TaskStateWorking, suspended.Status.State)
	require.Contains(t, text(suspended.Status.Message), "suspended (policy)")
	result, err := c.SendMessage(bounded(t), &sdk.MessageSendParams{Message: message("m1", "hello")})
	require.NoError(t, err, "a blocking message does not wait for it")
	require.Equal(t, sdk.TaskStateWorking, result.(*sdk.Task).Status.State)
}

func TestAQuestionIsAnsweredInWords(t *testing.T) {
	t.Parallel()
	for kind, state := range map[execution.InteractionKind]sdk.TaskState{
		execution.Elicitation: sdk.TaskStateInputRequired, execution.Authentication: sdk.TaskStateAuthRequired,
	} {
		p := serve(t, memory(t), change{})
		c := p.client("demo")
		task := send(t, c, message("m1", "hello"))
		open := linktest.Elicitation("r1")
		open.Kind = kind
		p.worker(task).Ask(open)
		asked := get(t, c, task)
		require.Equal(t, state, asked.Status.State)
		require.Equal(t, "Book it?", text(asked.Status.Message))
		_, err := trySend(t, c, to(task, data("m2", map[string]any{"x": 1})))
		require.ErrorIs(t, err, sdk.ErrInvalidParams)
		require.ErrorContains(t, err, "answer with text")
		answered := send(t, c, to(task, message("m3", "yes")))
		require.Equal(t, sdk.TaskStateWorking, answered.Status.State)
		require.Equal(t, answered.Status, send(t, c, to(task, message("m3", "yes"))).Status, "sent again, it answers as before")
		_, err = trySend(t, c, to(task, message("m4", "yes")))
		require.ErrorIs(t, err, sdk.ErrUnsupportedOperation)
		require.ErrorContains(t, err, "asks nothing now")
	}
}

func TestACallIsApprovedByOneWordOrByDecisions(t *testing.T) {
	t.Parallel()
	decisions := func(all ...map[string]any) map[string]any {
		list := make([]any, len(all))
		for i, one := range all {
			list[i] = one
		}
		return map[string]any{"decisions": list}
	}
	one := map[string]any{"callId": "call_0_0", "decision": "answer", "answer": map[string]any{"paid": true}}
	for name, answer := range map[string]*sdk.Message{
		"a word":          message("m2", "Approve."),
		"a refusal":       message("m2", "reject"),
		"decisions":       data("m2", decisions(one, map[string]any{"callId": "call_0_1", "decision": "reject", "reason": "no"})),
		"some decisions":  data("m2", decisions(one)),
		"a named request": data("m2", map[string]any{"requestId": "r1", "decisions": decisions(one)["decisions"]}),
	} {
		p := serve(t, memory(t), change{})
		c := p.client("demo")
		task := send(t, c, message("m1", "hello"))
		p.worker(task).Ask(linktest.Unknown("r1"))
		for _, wrong := range []*sdk.Message{
			message("w1", "maybe"), data("w2", map[string]any{"decide": 1}), data("w3", decisions(map[string]any{"callId": "x", "decision": "approve"})),
		} {
			_, err := trySend(t, c, to(task, wrong))
			require.ErrorIs(t, err, sdk.ErrInvalidParams, wrong.ID)
		}
		_, err := trySend(t, c, to(task, data("w4", map[string]any{"requestId": "r0", "decisions": decisions(one)["decisions"]})))
		require.ErrorIs(t, err, sdk.ErrUnsupportedOperation)
		require.Equal(t, sdk.TaskStateWorking, send(t, c, to(task, answer)).Status.State, name)
	}
}

func TestAResultIsGivenForACallOfTheClient(t *testing.T) {
	t.Parallel()
	p := serve(t, memory(t), change{})
	c := p.client("demo")
	task := send(t, c, message("m1", "hello"))
	open := linktest.Elicitation("r1")
	open.Kind = execution.ClientToolResult
	p.worker(task).Ask(open)
	_, err := trySend(t, c, to(task, message("m2", "done")))
	require.ErrorContains(t, err, `answer with data {"callId"`)
	answered := send(t, c, to(task, data("m3", map[string]any{"result": []any{1.0, "two"}})))
	require.Equal(t, sdk.TaskStateWorking, answered.Status.State)
}

func TestAnAnswerIsNotTakenForTheNextQuestion(t *testing.T) {
	t.Parallel()
	p := serve(t, memory(t), change{})
	c := p.client("demo")
	task := send(t, c, message("m1", "hello"))
	w := p.worker(task)
	w.Ask(linktest.Elicitation("r1"))
	send(t, c, to(task, message("m2", "yes")))
	w.AskAgain("r1", linktest.Elicitation("r2"))
	repeated := send(t, c, to(task, message("m2", "yes")))
	require.Equal(t, sdk.TaskStateInputRequired, repeated.Status.State, "the first answer was sent twice")
	require.Equal(t, "r2", repeated.Status.Message.ID)
}

func TestAMessageIsTakenOnce(t *testing.T) {
	t.Parallel()
	p := serve(t, memory(t), change{})
	c := p.client("demo")
	first := send(t, c, message("m1", "hello"))
	require.Equal(t, first.ID, send(t, c, message("m1", "hello")).ID)
	_, err := trySend(t, c, message("m1", "another"))
	require.ErrorIs(t, err, sdk.ErrInvalidParams)
	require.ErrorContains(t, err, "message.messageId")
	require.NotEqual(t, first.ID, send(t, p.client("priced"), message("m1", "hello")).ID, "each agent has its own")
}

func TestAContextIsAConversation(t *testing.T) {
	t.Parallel()
	p := serve(t, memory(t), change{})
	c := p.client("demo")
	m := message("m1", "hello")
	m.ContextID = "trip-7"
	task := send(t, c, m)
	require.Equal(t, "trip-7", task.ContextID)
	next := message("m2", "and back")
	next.ContextID = "trip-7"
	_, err := trySend(t, c, next)
	require.ErrorIs(t, err, sdk.ErrUnsupportedOperation, "one task of a context works at a time")
	p.worker(task).Complete("done")
	require.Equal(t, "trip-7", send(t, c, next).ContextID)
	_, err = trySend(t, c, to(task, message("m3", "more")))
	require.ErrorContains(t, err, "leave taskId out")
	wrong := to(task, message("m4", "more"))
	wrong.ContextID = "another"
	_, err = trySend(t, c, wrong)
	require.ErrorContains(t, err, "message.contextId")
}

func TestABlockingMessageWaitsForTheEndOrAQuestion(t *testing.T) {
	t.Parallel()
	p := serve(t, memory(t), change{})
	c := p.client("demo")
	task := send(t, c, message("m1", "hello"))
	w := p.worker(task)
	answers := make(chan *sdk.Task, 1)
	wait := func(m *sdk.Message) {
		go func() {
			result, err := c.SendMessage(bounded(t), &sdk.MessageSendParams{Message: m})
			if err != nil {
				t.Error(err)
				close(answers)
				return
			}
			answers <- result.(*sdk.Task)
		}()
	}
	wait(message("m1", "hello"))
	w.Warnings(2)
	w.Ask(linktest.Elicitation("r1"))
	require.Equal(t, sdk.TaskStateInputRequired, (<-answers).Status.State)
	wait(to(task, message("m2", "yes")))
	require.Eventually(t, func() bool { return get(t, c, task).Status.State == sdk.TaskStateWorking }, patience, 1e6)
	p.worker(task).Complete("done")
	require.Equal(t, "done", (<-answers).Artifacts[0].Parts[0].(sdk.TextPart).Text)
}
