package executor

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/execution"
)

// heard is a sink that keeps what it gets.
type heard struct {
	mu     sync.Mutex
	frames []execution.Frame
}

func (h *heard) Frame(frame execution.Frame) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.frames = append(h.frames, frame)
}

// kinds are the types of the frames, of agent events that of the event.
func (h *heard) kinds(t *testing.T) []string {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	return kindsOf(t, h.frames)
}

func runFar(ctx context.Context, t *testing.T, p *peer, sink *heard) (Result, error) {
	t.Helper()
	cfg := DirectConfig{Builder: kits{}, Remotes: remotes{carrier: p}}
	if sink != nil {
		cfg.Sink = sink
	}
	direct, err := NewDirect(cfg)
	require.NoError(t, err)
	return direct.Run(ctx, testID, farAway(), execution.CreateRequest{
		Input: execution.Input{Type: execution.UserMessage, Text: "Oslo"},
	})
}

func TestDirectRunsARemoteAgentAndKeepsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, sink := turns(working("t1"), working("t1"), done("Booked.", "t1")), &heard{}
		began := time.Now()
		result, err := runFar(t.Context(), t, p, sink)
		require.NoError(t, err)
		require.Equal(t, "Booked.", result.Outcome.Answer)
		require.Equal(t, 2*time.Second, time.Since(began), "as the remote wished")
		require.Nil(t, p.asked()[0].Checkpoints)
		require.Equal(t, []string{"run_start", "step_start", "text_delta", "inference_complete", "step_end", "run_finish"},
			sink.kinds(t))
		require.Empty(t, p.aborts())
	})
}

func TestDirectLeavesNothingAtTheRemote(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		question := "Which city?"
		p := turns(waiting(backend.WaitingInputStatus(&question), "t1"))
		result, err := runFar(t.Context(), t, p, nil)
		require.NoError(t, err)
		require.Equal(t, question, result.Interaction.Prompt)
		require.Len(t, p.aborts(), 1, "nobody in process answers")

		p = turns(working("t1"))
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(1500*time.Millisecond, func() { cancel(ErrUserCancel) })
		_, err = runFar(ctx, t, p, nil)
		require.ErrorIs(t, err, ErrUserCancel)
		require.Len(t, p.aborts(), 1)
		require.Equal(t, handle("t1"), p.aborts()[0].State)
	})
}
