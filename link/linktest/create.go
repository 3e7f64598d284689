package linktest

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

func createWrites(t *testing.T, h Harness) {
	request := Request("hello")
	request.Metadata = map[string]string{"order": "7"}
	created, err := h.Local().Create(bounded(t), "", request)
	require.NoError(t, err)
	require.False(t, created.Replayed)
	view := created.View
	require.Equal(t, execution.Queued, view.State)
	require.Equal(t, "demo", view.Agent)
	require.Equal(t, request.Metadata, view.Metadata)
	require.Equal(t, "run_start", view.Node)
	require.Equal(t, view.ID.Partition(), view.ConversationID.Partition("default"))
	again, err := h.Local().Execution(bounded(t), view.ID)
	require.NoError(t, err)
	require.Equal(t, view, again)
}

func acceptedIsWritten(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	events := Log(t, h.Store, id)
	require.Len(t, events, 1)
	require.Equal(t, execution.TypeExecutionQueued, events[0].Payload.EventType())
	// Whatever becomes of its task, a worker or the reaper finds it: it can be claimed.
	Claim(t, h.Store, id).Complete("done")
}

func createRefuses(t *testing.T, h Harness) {
	long := strings.Repeat("x", 513)
	many := map[string]string{}
	for c := range 17 {
		many[strings.Repeat("k", c+1)] = "v"
	}
	cases := []struct {
		field  string
		key    string
		change func(*execution.CreateRequest)
	}{
		{"Idempotency-Key", strings.Repeat("k", 257), func(*execution.CreateRequest) {}},
		{"agent", "", func(r *execution.CreateRequest) { r.Agent = "" }},
		{"input.type", "", func(r *execution.CreateRequest) { r.Input.Type = "" }},
		{"input.type", "", func(r *execution.CreateRequest) { r.Input.Type = execution.ToolApproval }},
		{"input.text", "", func(r *execution.CreateRequest) { r.Input.Text = "" }},
		{"input.requestId", "", func(r *execution.CreateRequest) { r.Input.RequestID = "r" }},
		{"input.decisions", "", func(r *execution.CreateRequest) {
			r.Input.Decisions = []execution.Decision{{CallID: "c", Decision: execution.Approve}}
		}},
		{"conversationId", "", func(r *execution.CreateRequest) { r.ConversationID = "two words" }},
		{"conversationId", "", func(r *execution.CreateRequest) { r.ConversationID = "conv_mine" }},
		{"onBusy", "", func(r *execution.CreateRequest) { r.OnBusy = "?" }},
		{"priority", "", func(r *execution.CreateRequest) { r.Priority = "urgent" }},
		{"startAtMs", "", func(r *execution.CreateRequest) { r.StartAtMs = -1 }},
		{"metadata", "", func(r *execution.CreateRequest) { r.Metadata = many }},
		{"metadata", "", func(r *execution.CreateRequest) { r.Metadata = map[string]string{"": "v"} }},
		{"metadata", "", func(r *execution.CreateRequest) { r.Metadata = map[string]string{long[:65]: "v"} }},
		{"metadata.k", "", func(r *execution.CreateRequest) { r.Metadata = map[string]string{"k": long} }},
	}
	for _, c := range cases {
		request := Request("hello")
		c.change(&request)
		unchanged(t, h, func() {
			_, err := h.Local().Create(bounded(t), c.key, request)
			Refused(t, err, execution.InvalidRequest, c.field)
			require.ErrorIs(t, err, execution.ErrInvalid)
		})
	}
}

func createNamesAgents(t *testing.T, h Harness) {
	request := Request("hello")
	request.Agent = "nobody"
	unchanged(t, h, func() {
		_, err := h.Local().Create(bounded(t), "", request)
		detail := Refused(t, err, execution.UnknownAgent, "agent")
		require.Contains(t, detail, "demo, lead, other")
		require.ErrorIs(t, err, execution.ErrUnknownAgent)
		require.ErrorIs(t, err, execution.ErrInvalid)
	})
}

func keyReplays(t *testing.T, h Harness) {
	first, err := h.Local().Create(bounded(t), "key", Request("hello"))
	require.NoError(t, err)
	require.False(t, first.Replayed)
	Claim(t, h.Store, first.View.ID).Complete("done")
	// A request that says its defaults is the same request.
	same := Request("hello")
	same.OnBusy, same.Priority = execution.BusyReject, execution.Normal
	unchanged(t, h, func() {
		second, err := h.Local().Create(bounded(t), "key", same)
		require.NoError(t, err)
		require.True(t, second.Replayed)
		require.Equal(t, first.View.ID, second.View.ID)
		require.Equal(t, execution.Completed, second.View.State, "the current view")
	})
}

func keyReused(t *testing.T, h Harness) {
	_, err := h.Local().Create(bounded(t), "key", Request("hello"))
	require.NoError(t, err)
	other, elsewhere := Request("hello, hello"), Request("hello")
	elsewhere.ConversationID = "mine"
	for _, request := range []execution.CreateRequest{other, elsewhere} {
		unchanged(t, h, func() {
			_, err := h.Local().Create(bounded(t), "key", request)
			Refused(t, err, execution.IdempotencyKeyReused, "Idempotency-Key")
			require.ErrorIs(t, err, execution.ErrIdempotencyKeyReused)
			require.ErrorIs(t, err, execution.ErrConflict)
		})
	}
}

func keysAreScoped(t *testing.T, h Harness) {
	mine, err := h.Local().Create(bounded(t), "key", Request("hello"))
	require.NoError(t, err)
	for _, caller := range []execution.CallerScope{{Tenant: "default", Subject: "ann"}, {Tenant: "acme", Subject: "local"}} {
		theirs, err := h.As(execution.Authority{Caller: caller, Role: execution.SubmitRole}).
			Create(bounded(t), "key", Request("something else"))
		require.NoError(t, err)
		require.False(t, theirs.Replayed)
		require.NotEqual(t, mine.View.ID, theirs.View.ID)
	}
}

func keyUnderLoad(t *testing.T, h Harness) {
	const n = 50
	created := make([]execution.Created, n)
	errs := make([]error, n)
	ctx := bounded(t)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { created[i], errs[i] = h.Local().Create(ctx, "key", Request("hello")) })
	}
	all.Wait()
	fresh := 0
	for i := range n {
		require.NoError(t, errs[i])
		require.Equal(t, created[0].View.ID, created[i].View.ID)
		if !created[i].Replayed {
			fresh++
		}
	}
	require.Equal(t, 1, fresh)
	open, err := h.Store.OpenExecutions(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 1, open)
}

func busyConversation(t *testing.T, h Harness) {
	request := Request("hello")
	request.ConversationID = "talk"
	first, err := h.Local().Create(bounded(t), "", request)
	require.NoError(t, err)
	require.Equal(t, execution.ConversationID("talk"), first.View.ConversationID)
	_, err = h.Local().Create(bounded(t), "", request)
	Refused(t, err, execution.ConversationBusy, "conversationId")
	require.ErrorIs(t, err, execution.ErrConversationBusy)
	request.OnBusy = execution.BusyEnqueue
	second, err := h.Local().Create(bounded(t), "", request)
	require.NoError(t, err)
	require.NotNil(t, second.View.Wait)
	require.Equal(t, execution.WaitSchedule, second.View.Wait.Kind)
	_, err = h.Local().Cancel(bounded(t), first.View.ID)
	require.NoError(t, err)
	Claim(t, h.Store, second.View.ID).Complete("its turn has come")
}

func listAgents(t *testing.T, h Harness) {
	agents, err := h.Local().Agents(bounded(t))
	require.NoError(t, err)
	require.Len(t, agents, 5)
	require.Equal(t, "demo", agents[0].ID)
	require.Equal(t, "lead", agents[1].ID)
	require.Equal(t, "local", agents[0].Backend)
	require.True(t, agents[0].Capabilities.Decisions)
	require.True(t, agents[0].Capabilities.Overrides)
	require.True(t, agents[0].Capabilities.FrontendTools)
}
