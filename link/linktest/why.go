package linktest

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// why asks, which writes nothing.
func (h Harness) why(t *testing.T, id execution.ID) (why execution.Why) {
	t.Helper()
	unchanged(t, h, func() {
		var err error
		why, err = h.Local().Why(bounded(t), id)
		require.NoError(t, err)
	})
	require.NotEmpty(t, why.Detail)
	require.Equal(t, byte('.'), why.Detail[len(why.Detail)-1], "a sentence: %s", why.Detail)
	return why
}

// ClaimFor takes the execution for a while and does nothing more.
func ClaimFor(t testing.TB, store journal.Store, id execution.ID, ttl time.Duration) {
	t.Helper()
	_, err := store.Claim(context.Background(), journal.ClaimRequest{Execution: id, Worker: "worker", Nonce: rand.Text(), TTL: ttl})
	require.NoError(t, err)
}

// Retry hands the step back to be tried again later.
func (w *Worker) Retry(code string, after time.Duration) {
	w.t.Helper()
	_, err := w.store.Release(context.Background(), journal.Release{
		Hold:  journal.Hold{Execution: w.id, Fence: w.claim.Fence, Operation: 1},
		Retry: &journal.Retry{Node: "model_response", Code: code, Message: "429: slow down", After: after},
	})
	require.NoError(w.t, err)
}

// Suspend suspends the execution.
func (w *Worker) Suspend(suspension execution.Suspension) {
	w.t.Helper()
	_, err := w.store.Release(context.Background(), journal.Release{
		Hold: journal.Hold{Execution: w.id, Fence: w.claim.Fence, Operation: 1}, Suspension: &suspension,
	})
	require.NoError(w.t, err)
}

func whyFromStartToEnd(t *testing.T, h Harness) {
	before := time.Now().UnixMilli() - 1000
	id := submit(t, h.Local())
	why := h.why(t, id)
	require.Equal(t, execution.Queued, why.State)
	require.Equal(t, execution.WaitsForWorker, why.WaitingFor)
	require.Greater(t, why.SinceAtMs, before)
	require.GreaterOrEqual(t, why.Next.AtMs, why.SinceAtMs)
	require.Contains(t, why.Detail, "default-new")
	require.Nil(t, why.Holder)
	require.Nil(t, why.LastError)

	w := Claim(t, h.Store, id)
	why = h.why(t, id)
	require.Equal(t, execution.Running, why.State)
	require.Equal(t, execution.WaitsForNode, why.WaitingFor)
	require.Equal(t, "worker", why.Holder.WorkerID)
	require.Equal(t, "run_start", why.Holder.Node)
	require.Equal(t, why.Next.AtMs, why.Holder.ClaimExpiresAtMs)
	require.Nil(t, why.Queue)

	w.Complete("done")
	why = h.why(t, id)
	require.Equal(t, execution.Completed, why.State)
	require.Equal(t, execution.WaitsForNothing, why.WaitingFor)
	require.Nil(t, why.Next)
	view, err := h.Local().Execution(bounded(t), id)
	require.NoError(t, err)
	require.Equal(t, view.EndedAtMs, why.SinceAtMs)
}

func whyRetry(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	w := Claim(t, h.Store, id)
	w.Warnings(2)
	w.Retry("rate_limited", time.Minute)
	why := h.why(t, id)
	require.Equal(t, execution.WaitsForRetry, why.WaitingFor)
	events := Log(t, h.Store, id)
	last := events[len(events)-1]
	retry, ok := last.Payload.(*execution.RetryScheduled)
	require.True(t, ok)
	require.Equal(t, retry.AtMs, why.Next.AtMs)
	require.Equal(t, &execution.WhyFailure{Code: "rate_limited", Message: "429: slow down", Attempt: 1, AtMs: last.OccurredAtMs}, why.LastError)
	require.Contains(t, why.Detail, "Attempt 1 at the node failed with rate_limited (429: slow down); it is tried again.")
}

func whyInput(t *testing.T, h Harness) {
	question := Elicitation("question")
	question.ExpiresAtMs, question.OnExpiry = time.Now().Add(time.Hour).UnixMilli(), execution.ExpireFail
	id := asked(t, h, question)
	why := h.why(t, id)
	require.Equal(t, execution.WaitingForInput, why.State)
	require.Equal(t, execution.WaitsForInput, why.WaitingFor)
	require.Contains(t, why.Detail, "question")
	require.Equal(t, question.ExpiresAtMs, why.Next.AtMs)
	require.Contains(t, why.Next.What, "fails")
	require.Nil(t, h.why(t, asked(t, h, Elicitation("question"))).Next, "nothing happens by itself")
}

func whyTurn(t *testing.T, h Harness) {
	first := submit(t, h.Local())
	view, err := h.Local().Execution(bounded(t), first)
	require.NoError(t, err)
	request := Request("more")
	request.ConversationID, request.OnBusy = view.ConversationID, execution.BusyEnqueue
	var behind []execution.ID
	for range 2 {
		created, err := h.Local().Create(bounded(t), "", request)
		require.NoError(t, err)
		behind = append(behind, created.View.ID)
	}
	for i, id := range behind {
		why := h.why(t, id)
		require.Equal(t, execution.WaitsForTurn, why.WaitingFor)
		require.Contains(t, why.Detail, string(first))
		require.Nil(t, why.Next)
		require.Equal(t, i == 1, len(why.Detail) > len(h.why(t, behind[0]).Detail), "the second knows of the first")
	}
	Claim(t, h.Store, first).Complete("done")
	require.Equal(t, execution.WaitsForWorker, h.why(t, behind[0]).WaitingFor)
}

func whySteered(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	_, err := h.Local().Pause(bounded(t), id)
	require.NoError(t, err)
	why := h.why(t, id)
	require.Equal(t, execution.WaitsForResume, why.WaitingFor)
	require.Contains(t, why.Detail, "paused")
	require.Contains(t, why.Next.What, execution.CodeSuspensionExpired)

	held := submit(t, h.Local())
	w := Claim(t, h.Store, held)
	_, err = h.Local().Pause(bounded(t), held)
	require.NoError(t, err)
	require.Contains(t, h.why(t, held).Detail, "pause is requested")
	_, err = h.Local().Cancel(bounded(t), held)
	require.NoError(t, err)
	why = h.why(t, held)
	require.Contains(t, why.Detail, "cancel is requested")
	require.Equal(t, execution.WaitsForNode, why.WaitingFor)
	w.Complete("too late")
	require.Contains(t, h.why(t, held).Detail, "canceled")

	worn := submit(t, h.Local())
	Claim(t, h.Store, worn).Suspend(execution.Suspension{
		Reason: execution.ReasonRetriesExhausted, Detail: "run_start: server_error: it is down: wait",
	})
	require.Equal(t, "server_error", h.why(t, worn).LastError.Code)
	require.Equal(t, "it is down: wait", h.why(t, worn).LastError.Message)
}
