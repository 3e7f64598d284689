package executor

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func TestCaseK5_WhatTheRemoteTookIsCommittedBeforeAnybodyWaits(t *testing.T) {
	t.Parallel()
	p := turns(working("t1"))
	a, _ := do(t, beforeRemote(p, nil))
	require.Equal(t, BeforeModelRequest, a.node)
	require.Equal(t, journal.Then{Kind: journal.ThenPark, WaitKind: execution.WaitRemote, Wait: time.Second}, a.then)
	require.Equal(t, "t1", noted(t, a))
	require.Equal(t, handle("t1"), a.state.Remote.State)
	require.Equal(t, int64(1), a.state.Usage.Requests)
	require.Empty(t, a.last, "the run goes on")
	request := p.asked()[0]
	require.Equal(t, []string{"hello"}, texts(request.NewMessages))
	require.Equal(t, []string{"hello"}, texts(request.Messages))
	require.False(t, request.IsContinuation)
	require.Nil(t, request.State)
	require.Equal(t, string(testID)+":inv_2", request.OperationID)
	require.Equal(t, testID, request.Identity.RunID)
	require.Equal(t, execution.ConversationID("conv_1"), request.Identity.ConversationID)

	// The next look tells the remote nothing, and costs nothing.
	s := beforeRemote(p, func(s *situation) { s.state, s.lost = a.state, 3 })
	a, _ = do(t, s)
	require.Nil(t, a.cleanup, "the row knows it")
	require.Equal(t, int64(1), a.state.Usage.Requests)
	request = p.asked()[1]
	require.True(t, request.IsContinuation)
	require.Equal(t, handle("t1"), request.State)
	require.Empty(t, request.NewMessages)
	require.Equal(t, string(testID)+":inv_2", request.OperationID, "the same as that of the message")
}

func TestTheAnswerOfARemoteIsThatOfAModel(t *testing.T) {
	t.Parallel()
	answer := done("Booked.", "t1")
	name := "bill"
	answer.Output.Artifacts = []backend.Artifact{{Name: &name, Content: json.RawMessage(`{"total":7}`)}}
	a, _ := do(t, beforeRemote(turns(answer), func(s *situation) {
		s.state.Remote = &RemoteRun{State: handle("t1"), Operation: "o", Noted: true}
	}))
	require.Equal(t, ModelResponse, a.node)
	require.Empty(t, noted(t, a))
	require.Nil(t, a.state.Remote)
	require.Equal(t, 1, a.state.Turn)
	require.Equal(t, []execution.Payload{execution.ModelCompleted{InvocationID: "inv_2", FinishReason: "stop", Model: "far-model"}},
		a.events)
	require.Equal(t, "Booked.", a.messages[0].Text)
	require.Equal(t, "a2a far", a.messages[0].Provider.Name)
	var kept backend.PersistedState
	require.NoError(t, json.Unmarshal(a.messages[0].Provider.Data, &kept))
	require.JSONEq(t, `{"taskId":"t1"}`, string(kept.Extensions["peer"]))
	require.JSONEq(t, `{"text":"Booked.","artifacts":[{"name":"bill","content":{"total":7}}]}`,
		string(kept.Extensions[backend.OutputStateKey]), "contract B: the output is kept under its key")
	require.Equal(t, []backend.EventType{backend.EventStepEnd, backend.EventRunFinish},
		[]backend.EventType{a.last[0].EventType(), a.last[1].EventType()})

	s := at(ModelResponse, func(s *situation) { s.state, s.definition = a.state, farAway() })
	a, _ = do(t, s)
	require.Equal(t, ValidateOutput, a.node)
	s = at(ValidateOutput, func(s *situation) { s.state, s.definition = a.state, farAway() })
	a, _ = do(t, s)
	require.Equal(t, &execution.Outcome{
		Answer: "Booked.", Output: json.RawMessage(`{"artifacts":[{"name":"bill","content":{"total":7}}]}`),
	}, a.then.Outcome)
}

func TestEachStatusOfARemoteHasItsEnd(t *testing.T) {
	t.Parallel()
	reason := "rejected"
	failed := backend.RunResult{Status: backend.FailedStatus("no rooms"), Termination: backend.TerminationReason{Kind: backend.TermError, Detail: "no rooms"}}
	rejected := failed
	rejected.StatusReason = &reason
	for name, c := range map[string]struct {
		result  backend.RunResult
		code    string
		message string
		open    bool // nobody knows what the remote does
	}{
		"failed":   {failed, "remote_failed", "no rooms", false},
		"rejected": {rejected, "remote_rejected", "no rooms", false},
		"canceled": {backend.RunResult{
			Status: backend.CanceledStatus(), Termination: backend.TerminationReason{Kind: backend.TermCanceled},
		}, "remote_canceled", "the remote agent canceled its task", false},
		"timeout": {backend.RunResult{
			Status: backend.TimeoutStatus(), Termination: backend.TerminationReason{Kind: backend.Stopped, Detail: "timeout"},
		}, "remote_timeout", "the remote agent did not answer in time", true},
		"completed, and stopped by an error": {backend.RunResult{
			Status: backend.CompletedStatus(), Termination: backend.TerminationReason{Kind: backend.TermError, Detail: "odd"},
		}, "remote_failed", "odd", false},
	} {
		c.result.State = handle("t1")
		a, _ := do(t, beforeRemote(turns(c.result), nil))
		require.Equal(t, RunFailed, a.node, name)
		require.Equal(t, &execution.Failure{Code: c.code, Message: c.message}, a.then.Failure, name)
		require.Len(t, a.last, 2, name)
		want := ""
		if c.open {
			want = "t1"
		}
		require.Equal(t, want, noted(t, a), name)
	}
}

func TestARemoteThatWaitsForSomethingElseIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	limited := "rate_limit"
	result := working("t1")
	result.StatusReason, result.After = &limited, 0
	a, _ := do(t, beforeRemote(turns(result), nil))
	require.Equal(t, journal.Then{Kind: journal.ThenPark, WaitKind: execution.WaitRemote, Wait: firstLook}, a.then)

	result = done("", "t1")
	result.Termination.Kind = backend.TermSuspended // a status that waits wins
	a, _ = do(t, beforeRemote(turns(result), nil))
	require.Equal(t, execution.WaitRemote, a.then.WaitKind)
	for looks, want := range map[int]time.Duration{0: firstLook, 1: 2 * firstLook, 6: 16 * time.Second, 7: lastLook, 1000: lastLook} {
		require.Equal(t, want, lookAfter(0, looks), looks)
	}
}

func TestTheQuestionOfARemoteIsAnInteraction(t *testing.T) {
	t.Parallel()
	question := "Which city?"
	p := turns(waiting(backend.WaitingInputStatus(&question), "t1"), done("Booked.", "t1"))
	a, _ := do(t, beforeRemote(p, nil))
	require.Equal(t, BeforeModelRequest, a.node)
	require.Equal(t, StatusWaiting, a.state.Status)
	require.Equal(t, journal.Then{
		Kind: journal.ThenPark, WaitKind: execution.WaitInput, Await: []execution.RequestID{"req_11_0"},
		Interaction: &execution.Interaction{RequestID: "req_11_0", Kind: execution.Elicitation, Prompt: question},
	}, a.then)
	require.Equal(t, "t1", noted(t, a), "a task that asks is open")
	require.Equal(t, question, a.messages[0].Text)
	asked := a

	// Without a reply the boundary was left by a policy: the question is asked again.
	a, _ = do(t, beforeRemote(p, func(s *situation) { s.state, s.step = asked.state, 11 }))
	require.Equal(t, []execution.RequestID{"req_12_0"}, a.then.Await)
	require.Empty(t, a.messages)

	// The answer is in the history before the remote hears it.
	a, _ = do(t, beforeRemote(p, func(s *situation) {
		s.state, s.step = asked.state, 11
		s.inbox = []journal.InboxEntry{{
			RequestID: "req_11_0", Payload: []byte(`{"type":"elicitation_response","requestId":"req_11_0","text":"Oslo"}`),
		}}
	}))
	require.Equal(t, []execution.RequestID{"req_11_0"}, a.consumed)
	require.Equal(t, "Oslo", a.messages[0].Text)
	require.Equal(t, journal.ThenContinue, a.then.Kind)
	require.Equal(t, StatusRunning, a.state.Status)
	require.Len(t, p.asked(), 1)

	history := []execution.Message{userSays("hello"), asked.messages[0], userSays("Oslo")}
	a, _ = do(t, beforeRemote(p, func(s *situation) { s.state, s.step, s.messages = a.state, 12, history }))
	require.Equal(t, ModelResponse, a.node)
	request := p.asked()[1]
	require.True(t, request.IsContinuation)
	require.Equal(t, []string{"Oslo"}, texts(request.NewMessages))
	require.Equal(t, string(testID)+":inv_2:req_11_0", request.OperationID, "another message than the first one")
	require.Equal(t, int64(2), a.state.Usage.Requests)
}

func TestARemoteThatWantsCredentialsAsksForThem(t *testing.T) {
	t.Parallel()
	a, _ := do(t, beforeRemote(turns(waiting(backend.WaitingAuthStatus(nil), "t1")), nil))
	require.Equal(t, execution.WaitAuth, a.then.WaitKind)
	require.Equal(t, execution.Authentication, a.then.Interaction.Kind)
	require.Equal(t, remoteAuthText, a.then.Interaction.Prompt)
	declined, _ := do(t, beforeRemote(nil, func(s *situation) {
		s.state, s.step = a.state, 11
		s.inbox = []journal.InboxEntry{{RequestID: "req_11_0", Payload: []byte(`{"type":"elicitation_response","declined":true}`)}}
	}))
	require.Equal(t, remoteDeclinedText, declined.messages[0].Text)
}

func TestErrorsOfARemoteThatMayPassAreTriedAgain(t *testing.T) {
	t.Parallel()
	p := &peer{root: func(context.Context, backend.RootRunRequest) (backend.RunResult, error) {
		return backend.RunResult{}, passingError()
	}}
	a, _ := do(t, beforeRemote(p, nil))
	require.Equal(t, "unreachable", a.back.retry.Code)
	require.Equal(t, int64(1), a.state.Usage.Requests, "an attempt costs a request")
	a, _ = do(t, beforeRemote(p, func(s *situation) { s.attempts = maxAttempts - 1 }))
	require.Equal(t, execution.ReasonRetriesExhausted, a.back.suspension.Reason)
	a, _ = do(t, beforeRemote(p, func(s *situation) { s.state.Remote = &RemoteRun{State: handle("t1")} }))
	require.Zero(t, a.state.Usage.Requests, "a look costs nothing")

	for want, failure := range map[string]error{
		"unauthorized": &backend.Error{Kind: backend.ErrorRemote, Message: "no", Err: &local.Error{
			Kind: local.Permanent, Code: "unauthorized", Message: "no",
		}},
		"remote_not_found": backend.AgentNotFound("no"), "remote_failed": backend.ExecutionFailed("no"),
	} {
		p.root = func(context.Context, backend.RootRunRequest) (backend.RunResult, error) {
			return backend.RunResult{}, failure
		}
		a, _ = do(t, beforeRemote(p, func(s *situation) { s.state.Remote = &RemoteRun{State: handle("t1"), Noted: true} }))
		require.Equal(t, &execution.Failure{Code: want, Message: "no"}, a.then.Failure, "without the prefix of its kind")
		require.Nil(t, a.cleanup, "nobody knows what the remote does: whoever cleans up tells it")
	}
}

func TestALimitOfRequestsCountsWhatTheRemoteIsTold(t *testing.T) {
	t.Parallel()
	p := turns(working("t1"))
	one := func(s *situation) { s.state.Limits.MaxModelRequests = 1 }
	a, _ := do(t, beforeRemote(p, one))
	require.Equal(t, execution.WaitRemote, a.then.WaitKind)
	for range 3 {
		a, _ = do(t, beforeRemote(p, func(s *situation) { s.state = a.state }))
		require.Equal(t, execution.WaitRemote, a.then.WaitKind, "looks are free")
	}
	a, _ = do(t, beforeRemote(p, func(s *situation) { one(s); s.lost = 1 }))
	require.Equal(t, execution.CodeUsageLimitExceeded, a.then.Failure.Code, "what a lost worker told it counts")
	require.Equal(t, int64(1), a.state.Usage.LostRequests)
}

func TestNewMessagesAreThoseThatTheRemoteDoesNotHave(t *testing.T) {
	t.Parallel()
	answered := execution.Message{Role: execution.RoleAssistant, Text: "old", Provider: &execution.ProviderState{
		Name: "a2a far", Data: json.RawMessage(`{"revision":4,"extensions":{"peer":{"contextId":"c"}}}`),
	}}
	others := execution.Message{Role: execution.RoleAssistant, Text: "mine", Provider: &execution.ProviderState{
		Name: "a2a other", Data: json.RawMessage(`{"revision":5}`),
	}}
	m := newMachine(beforeRemote(nil, nil), &fakeEnv{})
	question := m.questionOfRemote("Which?")
	for name, c := range map[string]struct {
		history  []execution.Message
		want     []string
		revision uint64 // of the earlier state; 0: none
	}{
		"a first turn":                {[]execution.Message{userSays("a")}, []string{"a"}, 0},
		"a second turn":               {[]execution.Message{userSays("a"), answered, userSays("b")}, []string{"b"}, 4},
		"two messages":                {[]execution.Message{userSays("a"), answered, userSays("b"), userSays("c")}, []string{"b", "c"}, 4},
		"behind another agent":        {[]execution.Message{userSays("a"), others, userSays("b")}, []string{"b"}, 0},
		"a question nobody goes on":   {[]execution.Message{userSays("a"), question, userSays("b")}, []string{"a", "b"}, 0},
		"an earlier turn, then other": {[]execution.Message{userSays("a"), answered, userSays("b"), others, userSays("c")}, []string{"c"}, 4},
	} {
		p := turns(working("t1"))
		do(t, beforeRemote(p, func(s *situation) { s.messages = c.history }))
		request := p.asked()[0]
		require.Equal(t, c.want, texts(request.NewMessages), name)
		require.Len(t, request.Messages, len(c.history), name)
		require.False(t, request.IsContinuation, "a new turn is a new run")
		if c.revision == 0 {
			require.Nil(t, request.State, name)
		} else {
			require.Equal(t, c.revision, request.State.Revision, name)
		}
	}
}
