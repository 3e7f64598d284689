package executor

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

func runDirect(t *testing.T, definition *agent.Definition, kit *local.Kit, hook Executor) (Result, error) {
	t.Helper()
	direct, err := NewDirect(DirectConfig{Builder: kits{kit: kit}, Hook: hook})
	require.NoError(t, err)
	return direct.Run(t.Context(), testID, definition, execution.CreateRequest{
		Input: execution.Input{Type: execution.UserMessage, Text: "Oslo"},
	})
}

func TestDirectRunsAWholeExecution(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		attempts := 0
		kit := &local.Kit{Model: script(calling("pay"), text("done")), Tools: []local.Tool{
			tool("pay", agent.Unsafe, func(ctx context.Context, call local.Invocation) (local.Answer, error) {
				if attempts++; attempts == 1 {
					return local.Answer{}, &local.Error{Kind: local.Transient, Code: "busy", RetryAfter: time.Minute}
				}
				return says("paid")(ctx, call)
			}),
		}}
		var nodes []Node
		began := time.Now()
		result, err := runDirect(t, &agent.Definition{}, kit, hookFunc(func(_ context.Context, c Checkpoint) (Decision, error) {
			nodes = append(nodes, c.Node)
			return Continue(), nil
		}))
		require.NoError(t, err)
		require.Equal(t, &execution.Outcome{Answer: "done"}, result.Outcome)
		require.Greater(t, time.Since(began), time.Minute)
		require.Len(t, result.Messages, 4)
		require.Equal(t, int64(1), result.Checkpoint.State.Usage.ToolCalls)
		require.Equal(t, []Node{
			RunStart, PrepareModelRequest, BeforeModelRequest, ModelResponse, ToolCall, ToolReturn,
			PrepareModelRequest, BeforeModelRequest, ModelResponse, ValidateOutput, RunComplete,
		}, nodes, "contract A: every boundary in order")
	})
}

func TestDirectEndsWhereItCannotGoOn(t *testing.T) {
	t.Parallel()
	ask := &local.Kit{Model: script(calling("ask")), Tools: []local.Tool{
		tool("ask", agent.ReadOnly, asks(local.Question{Kind: execution.Elicitation, Prompt: "?"})),
	}}
	result, err := runDirect(t, &agent.Definition{}, ask, nil)
	require.NoError(t, err)
	require.Equal(t, "?", result.Interaction.Prompt)

	denied := &local.Kit{Model: fakeModel(func(context.Context, local.ModelRequest) (local.ModelResponse, error) {
		return local.ModelResponse{}, &local.Error{Kind: local.Permanent, Code: "unauthorized"}
	})}
	result, err = runDirect(t, &agent.Definition{}, denied, nil)
	require.NoError(t, err)
	require.Equal(t, "unauthorized", result.Failure.Code)

	result, err = runDirect(t, &agent.Definition{}, ask, hookFunc(func(_ context.Context, c Checkpoint) (Decision, error) {
		if c.Node == ModelResponse {
			return Suspend("review"), nil
		}
		return Continue(), nil
	}))
	require.NoError(t, err)
	require.Equal(t, "review", result.Suspension.Detail)
	require.Equal(t, ModelResponse, result.Checkpoint.Node)
	require.Nil(t, result.Interaction)

	disk := errors.New("disk full")
	_, err = runDirect(t, &agent.Definition{}, ask, hookFunc(func(context.Context, Checkpoint) (Decision, error) {
		return Continue(), disk
	}))
	require.ErrorIs(t, err, disk)
}

func TestDirectObeysDeadlineAndContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		model, _, _ := hanging()
		result, err := runDirect(t, &agent.Definition{Limits: execution.Limits{Deadline: time.Minute}}, &local.Kit{Model: model}, nil)
		require.NoError(t, err)
		require.Equal(t, execution.CodeDeadlineExceeded, result.Failure.Code)

		direct, err := NewDirect(DirectConfig{Builder: kits{kit: &local.Kit{Model: model}}})
		require.NoError(t, err)
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(ErrUserCancel) })
		_, err = direct.Run(ctx, testID, &agent.Definition{}, execution.CreateRequest{})
		require.ErrorIs(t, err, ErrUserCancel)
	})
}
