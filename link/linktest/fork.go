package linktest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/link"
)

// ForkWith is what the suite's forks begin with: the checkpoint as it is, and of the history as many messages as it says,
// or all. One that says "busy" cannot be forked.
func ForkWith(
	definition *agent.Definition, request execution.CreateRequest, _, at []byte, says bool,
) (out journal.NewExecution, err error) {
	var stored struct {
		Length *int `json:"length"`
		Busy   bool `json:"busy"`
	}
	if err := json.Unmarshal(at, &stored); err != nil {
		return out, err
	}
	if stored.Busy {
		return out, execution.NewAPIError(execution.InvalidRequest, "busy").In("step")
	}
	out.Checkpoint, out.Node, out.Fork = at, "model_response", &journal.Fork{Whole: stored.Length == nil}
	if stored.Length != nil {
		out.Fork.Length = *stored.Length
	}
	if says {
		out.Checkpoint, out.Node, out.Messages, err = OpenWith(definition, request)
	}
	return out, err
}

// said is the text of the execution's history.
func said(t *testing.T, l link.RuntimeLink, id execution.ID) (texts []string) {
	t.Helper()
	page, err := l.Messages(bounded(t), id, 0, 100)
	require.NoError(t, err)
	require.False(t, page.HasMore)
	for _, message := range page.Messages {
		texts = append(texts, message.Text)
	}
	return texts
}

func busyInterrupt(t *testing.T, h Harness) {
	request := Request("hello")
	request.ConversationID = "talk"
	first, err := h.Local().Create(bounded(t), "", request)
	require.NoError(t, err)
	Claim(t, h.Store, first.View.ID)

	request.OnBusy, request.Input.Text = execution.BusyInterrupt, "stop"
	second, err := h.Local().Create(bounded(t), "key", request)
	require.NoError(t, err)
	require.Equal(t, &execution.Wait{Kind: execution.WaitSchedule}, second.View.Wait, "until the holder has let go")
	view, err := h.Local().Execution(bounded(t), first.View.ID)
	require.NoError(t, err)
	require.True(t, view.CancelRequested)
	again, err := h.Local().Create(bounded(t), "key", request)
	require.NoError(t, err)
	require.True(t, again.Replayed)

	request.OnBusy, request.Input.Text = execution.BusyRollback, "stop that"
	third, err := h.Local().Create(bounded(t), "", request)
	require.NoError(t, err)
	view, err = h.Local().Execution(bounded(t), second.View.ID)
	require.NoError(t, err)
	require.Equal(t, execution.Canceled, view.State, "the later one takes the place of the earlier one")
	require.Empty(t, said(t, h.Local(), second.View.ID))

	request.ConversationID = "another"
	other, err := h.Local().Create(bounded(t), "", request)
	require.NoError(t, err)
	require.Nil(t, other.View.Wait, "nobody is to be interrupted")
	next, err := h.Local().Create(bounded(t), "", request)
	require.NoError(t, err)
	require.Nil(t, next.View.Wait)
	view, err = h.Local().Execution(bounded(t), other.View.ID)
	require.NoError(t, err)
	require.Equal(t, execution.Canceled, view.State)
	require.Equal(t, []string{"stop that"}, said(t, h.Local(), next.View.ID))
	require.Equal(t, []string{"stop that"}, said(t, h.Local(), other.View.ID), "its own is still to be read")
	require.NotEmpty(t, third.View.ID)
}

// forkable is an execution of which two steps can be forked, and one cannot.
func forkable(t *testing.T, h Harness, l link.RuntimeLink, agents ...string) execution.ID {
	t.Helper()
	request := Request("hello")
	if len(agents) > 0 {
		request.Agent = agents[0]
	}
	request.Metadata = map[string]string{"order": "7"}
	created, err := l.Create(bounded(t), "", request)
	require.NoError(t, err)
	w := Claim(t, h.Store, created.View.ID)
	w.step(`{"v":1,"length":2}`, `{"role":"assistant","text":"one"}`)
	w.step(`{"v":1,"busy":true}`, `{"role":"assistant","text":"two"}`)
	return created.View.ID
}

func forkGoesOn(t *testing.T, h Harness) {
	id := forkable(t, h, h.Local())
	source, err := h.Local().Execution(bounded(t), id)
	require.NoError(t, err)
	require.Nil(t, source.ForkedFrom)
	created, err := h.Local().Fork(bounded(t), id, "", execution.ForkRequest{Step: 1})
	require.NoError(t, err)
	require.False(t, created.Replayed)
	view := created.View
	require.NotEqual(t, id, view.ID)
	require.NotEqual(t, source.ConversationID, view.ConversationID)
	require.Equal(t, &execution.Origin{ExecutionID: id, Step: 1}, view.ForkedFrom)
	require.Equal(t, execution.Queued, view.State)
	require.Equal(t, "demo", view.Agent)
	require.Equal(t, source.Metadata, view.Metadata)
	require.Zero(t, view.Step)
	require.Zero(t, view.Usage)
	require.Equal(t, []string{"hello", "one"}, said(t, h.Local(), view.ID))
	seen, err := h.Local().Execution(bounded(t), view.ID)
	require.NoError(t, err)
	require.Equal(t, view.ForkedFrom, seen.ForkedFrom)
	Claim(t, h.Store, view.ID).Say(`{"role":"assistant","text":"another way"}`)
	require.Equal(t, []string{"hello", "one", "another way"}, said(t, h.Local(), view.ID))
	require.Equal(t, []string{"hello", "one", "two"}, said(t, h.Local(), id), "it goes on as it was")
}

func forkSays(t *testing.T, h Harness) {
	id := forkable(t, h, h.Local(), "other")
	input := Request("instead").Input
	created, err := h.Local().Fork(bounded(t), id, "", execution.ForkRequest{
		Step: 1, Input: &input, Model: "small", Instructions: "Be brief.",
	})
	require.NoError(t, err)
	require.Equal(t, []string{"hello", "one", "instead"}, said(t, h.Local(), created.View.ID))
	row, err := h.Store.Get(bounded(t), created.View.ID)
	require.NoError(t, err)
	require.Equal(t, "small", row.Request.Model)
	require.JSONEq(t, `{"model":"small","instructions":"Be brief."}`, string(row.Overrides))
	again, err := h.Local().Fork(bounded(t), created.View.ID, "", execution.ForkRequest{Instructions: "Be verbose."})
	require.NoError(t, err)
	row, err = h.Store.Get(bounded(t), again.View.ID)
	require.NoError(t, err)
	require.JSONEq(t, `{"model":"small","instructions":"Be verbose."}`, string(row.Overrides), "what is absent stays")
	_, err = h.Local().Cancel(bounded(t), id)
	require.NoError(t, err)
	_, err = h.Local().Fork(bounded(t), id, "", execution.ForkRequest{Step: 1})
	require.NoError(t, err, "from what has ended as well")
}

func forkReplays(t *testing.T, h Harness) {
	id := forkable(t, h, h.Local())
	first, err := h.Local().Fork(bounded(t), id, "key", execution.ForkRequest{Step: 1})
	require.NoError(t, err)
	again, err := h.Local().Fork(bounded(t), id, "key", execution.ForkRequest{Step: 1})
	require.NoError(t, err)
	require.True(t, again.Replayed)
	require.Equal(t, first.View.ID, again.View.ID)
	_, err = h.Local().Fork(bounded(t), id, "key", execution.ForkRequest{Step: 0})
	Refused(t, err, execution.IdempotencyKeyReused, "Idempotency-Key")
	_, err = h.Local().Create(bounded(t), "key", Request("hello"))
	Refused(t, err, execution.IdempotencyKeyReused, "Idempotency-Key")

	_, err = h.Local().Cancel(bounded(t), id)
	require.NoError(t, err)
	Drop(t, h, id)
	again, err = h.Local().Fork(bounded(t), id, "key", execution.ForkRequest{Step: 1})
	require.NoError(t, err)
	require.True(t, again.Replayed)
	require.Equal(t, first.View.ID, again.View.ID)
	require.Equal(t, []string{"hello", "one"}, said(t, h.Local(), first.View.ID), "its history does not depend on it")
	_, err = h.Local().Fork(bounded(t), id, "another key", execution.ForkRequest{Step: 1})
	require.ErrorIs(t, err, execution.ErrNotFound)
}

// forkKeyGone: the key of a fork that was deleted says so, whether or not what was forked is there.
func forkKeyGone(t *testing.T, h Harness) {
	for _, key := range []string{"k1", "k2", "k3"} { // of several partitions
		id := forkable(t, h, h.Local())
		ask := execution.ForkRequest{Step: 1}
		created, err := h.Local().Fork(bounded(t), id, key, ask)
		require.NoError(t, err)
		_, err = h.Local().Cancel(bounded(t), created.View.ID)
		require.NoError(t, err)
		require.NoError(t, h.Local().Delete(bounded(t), created.View.ID))
		_, err = h.Local().Fork(bounded(t), id, key, ask)
		Refused(t, err, execution.Gone, "Idempotency-Key")
		_, err = h.Local().Cancel(bounded(t), id)
		require.NoError(t, err)
		Drop(t, h, id)
		unchanged(t, h, func() {
			_, err := h.Local().Fork(bounded(t), id, key, ask)
			Refused(t, err, execution.Gone, "Idempotency-Key")
			_, err = h.Local().Fork(bounded(t), id, key, execution.ForkRequest{Step: 0})
			Refused(t, err, execution.Gone, "Idempotency-Key")
			_, err = h.Local().Fork(bounded(t), id, "unused", ask)
			Refused(t, err, execution.NotFound, "id")
			_, err = as(h, "another", "eve", execution.OperateRole).Fork(bounded(t), id, key, ask)
			Refused(t, err, execution.NotFound, "id")
		})
	}
	foreign := forkable(t, h, h.Local())
	unchanged(t, h, func() {
		_, err := as(h, "another", "eve", execution.OperateRole).Fork(bounded(t), foreign, "k", execution.ForkRequest{Step: 1})
		Refused(t, err, execution.NotFound, "id")
	})
}

// Drop ends the execution if a claim keeps it open, and deletes it.
func Drop(t *testing.T, h Harness, id execution.ID) {
	t.Helper()
	row, err := h.Store.Get(context.Background(), id)
	require.NoError(t, err)
	if !row.State.Terminal() {
		_, err = h.Store.Release(context.Background(), journal.Release{
			Hold: journal.Hold{Execution: id, Fence: row.Claim.Fence, Operation: 1 << 20},
		})
		require.NoError(t, err)
	}
	require.NoError(t, h.Store.Delete(context.Background(), id))
}

func forkRefusals(t *testing.T, h Harness) {
	id := forkable(t, h, h.Local())
	view, err := h.Local().Execution(bounded(t), id)
	require.NoError(t, err)
	waiting := Request("later")
	waiting.ConversationID, waiting.OnBusy = view.ConversationID, execution.BusyEnqueue
	later, err := h.Local().Create(bounded(t), "", waiting)
	require.NoError(t, err)
	long := make([]byte, 70_000)
	for i := range long {
		long[i] = 'x'
	}
	input := execution.Input{Type: execution.ElicitationResponse, RequestID: "r"}
	unchanged(t, h, func() {
		for _, c := range []struct {
			id      execution.ID
			request execution.ForkRequest
			code    execution.ErrorCode
			field   string
		}{
			{id, execution.ForkRequest{Step: 2}, execution.InvalidRequest, "step"},
			{id, execution.ForkRequest{Step: 3}, execution.InvalidRequest, "step"},
			{id, execution.ForkRequest{Step: 1, Model: " small"}, execution.InvalidRequest, "model"},
			{id, execution.ForkRequest{Step: 1, Instructions: string(long)}, execution.InvalidRequest, "instructions"},
			{id, execution.ForkRequest{Step: 1, Input: &input}, execution.InvalidRequest, "input.type"},
			{id, execution.ForkRequest{Step: 1, Input: &execution.Input{Type: execution.UserMessage}}, execution.InvalidRequest, "input.text"},
			{later.View.ID, execution.ForkRequest{}, execution.Conflict, "id"},
			{execution.NewID(3), execution.ForkRequest{}, execution.NotFound, "id"},
			{"nothing", execution.ForkRequest{}, execution.InvalidRequest, "id"},
		} {
			_, err := h.Local().Fork(bounded(t), c.id, "", c.request)
			Refused(t, err, c.code, c.field)
		}
	})
}

func forkRoles(t *testing.T, h Harness) {
	as := func(subject string, role execution.CallerRole) link.RuntimeLink {
		return h.As(execution.Authority{Caller: execution.CallerScope{Tenant: "default", Subject: subject}, Role: role})
	}
	ann := as("ann", execution.SubmitRole)
	id := forkable(t, h, ann)
	own, err := ann.Fork(bounded(t), id, "", execution.ForkRequest{Step: 1})
	require.NoError(t, err)
	_, err = as("bob", execution.SubmitRole).Fork(bounded(t), id, "", execution.ForkRequest{Step: 1})
	require.ErrorIs(t, err, execution.ErrForbidden)
	_, err = as("ann", execution.ReadRole).Fork(bounded(t), id, "", execution.ForkRequest{Step: 1})
	require.ErrorIs(t, err, execution.ErrForbidden)
	on, err := as("on-call", execution.OperateRole).Fork(bounded(t), id, "", execution.ForkRequest{Step: 1})
	require.NoError(t, err)
	_, err = ann.Execution(bounded(t), own.View.ID)
	require.NoError(t, err)
	_, err = ann.Execution(bounded(t), on.View.ID)
	require.ErrorIs(t, err, execution.ErrForbidden, "it is the operator's")
}
