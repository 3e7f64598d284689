package linktest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Store gives a call of the execution a receipt with a blob, and returns the blob's hash.
func (w *Worker) Store(content string) string {
	w.t.Helper()
	const call execution.CallID = "call_0_0"
	ctx := context.Background()
	committed, err := w.store.Commit(ctx, journal.Commit{
		Hold: journal.Hold{Execution: w.id, Fence: w.claim.Fence}, Step: w.claim.Execution.Step, Node: "tool_call",
		Checkpoint: []byte(`{"v":1}`), Plan: []journal.Plan{{CallID: call, Intent: []byte(`{}`)}},
		Then: journal.Then{Kind: journal.ThenContinue},
	})
	require.NoError(w.t, err)
	require.Equal(w.t, execution.Running, committed.State)
	w.again()
	sum := sha256.Sum256([]byte(content))
	hash := hex.EncodeToString(sum[:])
	_, err = w.store.Record(ctx, journal.Record{
		Hold: journal.Hold{Execution: w.id, Fence: w.claim.Fence}, State: journal.Done, Calls: []execution.CallID{call},
		Receipts: [][]byte{[]byte(`{}`)}, Blobs: []journal.Blob{{Hash: hash, Content: []byte(content)}},
	})
	require.NoError(w.t, err)
	return hash
}

func blobs(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	w := Claim(t, h.Store, id)
	content := `"` + strings.Repeat("<é>", 400_000) + `"`
	hash := w.Store(content)
	got, err := h.Local().Blob(bounded(t), id, hash)
	require.NoError(t, err)
	require.Equal(t, content, string(got))
	w.Complete("done")
	got, err = h.Local().Blob(bounded(t), id, hash)
	require.NoError(t, err)
	require.Equal(t, content, string(got))
}

func blobRefusals(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	hash := Claim(t, h.Store, id).Store(`"large"`)
	other := submit(t, h.Local())
	unchanged(t, h, func() {
		for _, bad := range []string{"", "abc", strings.ToUpper(hash), hash + "0", "../" + hash, strings.Repeat("g", 64)} {
			_, err := h.Local().Blob(bounded(t), id, bad)
			require.Error(t, err)
			if bad != "" && !strings.Contains(bad, "/") { // over HTTP these are other paths
				Refused(t, err, execution.InvalidRequest, "hash")
			}
		}
		_, err := h.Local().Blob(bounded(t), id, strings.Repeat("0", 64))
		Refused(t, err, execution.NotFound, "hash")
		_, err = h.Local().Blob(bounded(t), other, hash)
		Refused(t, err, execution.NotFound, "hash")
		_, err = h.Local().Blob(bounded(t), execution.NewID(7), hash)
		Refused(t, err, execution.NotFound, "id")
		_, err = h.Local().Blob(bounded(t), "exec", hash)
		Refused(t, err, execution.InvalidRequest, "id")
		stranger := execution.Authority{Caller: execution.CallerScope{Tenant: "another", Subject: "local"}, Role: execution.OperateRole}
		_, err = h.As(stranger).Blob(bounded(t), id, hash)
		Refused(t, err, execution.NotFound, "id")
	})
}
