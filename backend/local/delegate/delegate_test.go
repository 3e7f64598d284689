package delegate_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/delegate"
	"github.com/pawl-run/pawl/execution"
)

const theID = execution.ID("exec_0001ARZ3NDEKTSV4RRFFQ69G5FAV")

func toolOf(t *testing.T, declared agent.Tool, cfg delegate.Config) local.Tool {
	t.Helper()
	tools, err := delegate.New(cfg)
	require.NoError(t, err)
	made, err := tools.Factory(t.Context(), nil, declared, nil)
	require.NoError(t, err)
	return made
}

func call(arguments string) local.Invocation {
	return local.Invocation{
		Execution: theID, Call: execution.ToolCall{CallID: "call_0_1", Name: "ask", Arguments: json.RawMessage(arguments)},
		Grant: &local.Grant{Definition: &agent.Definition{Name: "researcher"}, Depth: 1, Limits: execution.Limits{MaxTurns: 3}},
	}
}

func textOf(t *testing.T, answer local.Answer) string {
	t.Helper()
	require.NotNil(t, answer.Result)
	var text string
	require.NoError(t, json.Unmarshal(answer.Result.Content, &text))
	return text
}

// ending is a run that ends so.
func ending(result backend.RunResult) delegate.Config {
	return delegate.Config{Local: func(context.Context, delegate.Run) (backend.RunResult, execution.Usage, error) {
		return result, execution.Usage{Requests: 2}, nil
	}}
}

func TestACallRunsTheAgent(t *testing.T) {
	t.Parallel()
	var asked delegate.Run
	answer := "found"
	tool := toolOf(t, agent.Tool{
		Name: "ask", Agent: "researcher", Mode: agent.Ephemeral, Recovery: agent.Unsafe, Limits: execution.Limits{MaxTurns: 9},
	}, delegate.Config{Local: func(_ context.Context, run delegate.Run) (backend.RunResult, execution.Usage, error) {
		asked = run
		return backend.RunResult{Status: backend.CompletedStatus(), Response: &answer}, execution.Usage{Requests: 2}, nil
	}})
	require.Equal(t, &local.Delegate{Agent: "researcher", Mode: agent.Ephemeral, Limits: execution.Limits{MaxTurns: 9}}, tool.Spec().Delegate)
	require.Equal(t, agent.Unsafe, tool.Spec().Recovery)
	require.Zero(t, tool.Spec().Timeout, "the tool bounds its calls itself")
	got, err := tool.Call(t.Context(), call(`{"prompt":"look","depth":2,"area":"north"}`), nil)
	require.NoError(t, err)
	require.Equal(t, "found", textOf(t, got))
	require.False(t, got.Result.IsError)
	require.Equal(t, execution.Usage{Requests: 2}, got.Usage)
	require.Equal(t, "look\n\n{\"area\":\"north\",\"depth\":2}", asked.Prompt)
	require.Equal(t, execution.ChildID(theID, "call_0_1"), asked.ID, "effects have the same names at every try")
	require.Equal(t, int64(3), asked.Limits.MaxTurns)
	require.Equal(t, 1, asked.Depth)
}

func TestABlankPromptIsRejected(t *testing.T) {
	t.Parallel()
	tool := toolOf(t, agent.Tool{Name: "ask"}, ending(backend.RunResult{}))
	for _, arguments := range []string{`{}`, `{"prompt":" \n"}`, `{"prompt":1}`, `[]`, `null`} {
		got, err := tool.Call(t.Context(), call(arguments), nil)
		require.NoError(t, err)
		require.Equal(t, execution.ToolInvalidArguments, got.Result.ErrorKind, arguments)
		require.Zero(t, got.Usage)
	}
}

func TestARunWithoutAnAnswerIsAnErrorThatTheModelReads(t *testing.T) {
	t.Parallel()
	question := "Which one?"
	for want, status := range map[string]backend.RunStatus{
		"the agent's run ended: failed: no luck": backend.FailedStatus("no luck"),
		"the agent's run ended: timeout":         backend.TimeoutStatus(),
		"the agent's run ended: canceled":        backend.CanceledStatus(),
		"the agent cannot go on: it would have to wait, and it runs inside a call, where nothing waits: waiting_input: Which one?": backend.WaitingInputStatus(&question),
		"the agent cannot go on: it would have to wait, and it runs inside a call, where nothing waits: waiting_auth":              backend.WaitingAuthStatus(nil),
		"the agent cannot go on: it would have to wait, and it runs inside a call, where nothing waits: suspended":                 backend.SuspendedStatus(nil),
	} {
		got, err := toolOf(t, agent.Tool{Name: "ask"}, ending(backend.RunResult{Status: status})).Call(t.Context(), call(`{"prompt":"p"}`), nil)
		require.NoError(t, err)
		require.Equal(t, want, textOf(t, got))
		require.Equal(t, execution.ToolExecution, got.Result.ErrorKind)
		require.Equal(t, int64(2), got.Usage.Requests, "what was spent is spent")
	}
}

// hanging runs until its context ends.
func hanging() delegate.Config {
	return delegate.Config{Local: func(ctx context.Context, _ delegate.Run) (backend.RunResult, execution.Usage, error) {
		<-ctx.Done()
		return backend.RunResult{}, execution.Usage{Requests: 1}, context.Cause(ctx)
	}}
}

func TestACallEndsAtItsTimeoutAndWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		tool := toolOf(t, agent.Tool{Name: "ask", Timeout: time.Minute}, hanging())
		got, err := tool.Call(t.Context(), call(`{"prompt":"p"}`), nil)
		require.NoError(t, err)
		require.Equal(t, "the agent's run ended: timeout", textOf(t, got))
		require.Equal(t, int64(1), got.Usage.Requests)
		require.Equal(t, time.Minute, time.Since(began))

		canceled := errors.New("canceled by the user")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(canceled) })
		got, err = tool.Call(ctx, call(`{"prompt":"p"}`), nil)
		require.ErrorIs(t, err, canceled)
		require.Nil(t, got.Result, "nobody knows what the run came to")
		require.Equal(t, int64(1), got.Usage.Requests)
	})
}
