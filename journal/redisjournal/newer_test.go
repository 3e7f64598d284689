package redisjournal

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// A row of a later release is left as it is: no claim, no command and no reaper of this one writes to it, and nobody takes it for a
// damaged one. Its programs go on with it where it stood.
func TestARowOfALaterReleaseIsLeftToItsPrograms(t *testing.T) {
	t.Parallel()
	w := open(t)
	queued, running, other := w.reserve(), w.reserve(), w.reserve()
	w.commit(w.claim(running, "n0"), journal.Then{Kind: journal.ThenContinue})
	both := []execution.ID{queued, running}
	for _, id := range both {
		require.NoError(t, w.rdb.HSet(w.ctx(), w.store.keys.row(id), "v", "2").Err())
	}
	w.now = w.now.Add(time.Hour)
	before := dump(t, w.rdb, w.cfg.Prefix)
	for _, id := range both {
		for operation, err := range w.refused(id) {
			require.ErrorIs(t, err, execution.ErrNewer, operation)
			require.NotErrorIs(t, err, journal.ErrUnavailable, operation)
		}
	}
	page, err := w.store.List(w.ctx(), journal.Listing{Caller: execution.LocalCaller(), Limit: 10})
	require.NoError(t, err)
	require.Len(t, page.Executions, 1)
	require.Equal(t, other, page.Executions[0].ID, "programs of its release list the others")
	found, _ := audited(t, w.store, true)
	require.Len(t, found, 1)
	require.Len(t, found[journal.FindingNewer], len(both))
	require.Equal(t, before, dump(t, w.rdb, w.cfg.Prefix), "nothing was written")

	swept, err := w.store.Sweep(w.ctx(), queued.Partition(), 10)
	require.NoError(t, err)
	for _, due := range swept {
		require.Equal(t, due.Member != string(other), due.Action == journal.ActNewer, due.Member)
		if due.Action == journal.ActNewer {
			require.NoError(t, w.store.Postpone(w.ctx(), due, time.Minute))
		}
	}
	require.Len(t, swept, 3)
	for _, id := range both {
		require.NoError(t, w.rdb.HSet(w.ctx(), w.store.keys.row(id), "v", rowVersion).Err())
		w.commit(w.claim(id, "n1"), journal.Then{Kind: journal.ThenContinue})
	}
	requireSound(t, w.store)
}

// refused are the answers to what everybody may do with an execution.
func (w *world) refused(id execution.ID) map[string]error {
	answers, ctx := map[string]error{}, w.ctx()
	for _, step := range []execution.Step{0, 1} {
		_, err := w.store.Claim(ctx, journal.ClaimRequest{Execution: id, Step: &step, Worker: "w", Nonce: "n9", TTL: time.Minute})
		answers["claim"] = err
	}
	_, answers["get"] = w.store.Get(ctx, id)
	_, answers["cancel"] = w.store.Cancel(ctx, id)
	_, answers["pause"] = w.store.Pause(ctx, id)
	_, answers["resume"] = w.store.Resume(ctx, id, journal.Resumption{})
	_, answers["input"] = w.store.CommitInteractionInput(ctx, id, journal.InteractionInput{OperationID: "o", RequestID: "r", Response: "{}"})
	_, answers["inspect"] = w.store.Inspect(ctx, id)
	return answers
}
