package linktest

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

// asked is an execution that waits for an answer.
func asked(t *testing.T, h Harness, interaction execution.Interaction) execution.ID {
	t.Helper()
	id := submit(t, h.Local())
	Claim(t, h.Store, id).Ask(interaction)
	view, err := h.Local().Execution(bounded(t), id)
	require.NoError(t, err)
	require.Equal(t, execution.WaitingForInput, view.State)
	require.Equal(t, interaction, *view.Interaction)
	require.Equal(t, execution.WaitInput, view.Wait.Kind)
	return id
}

func inputReplays(t *testing.T, h Harness) {
	id := asked(t, h, Elicitation("question"))
	view, err := h.Local().SubmitInput(bounded(t), id, Answer("op-1", "question", "yes"))
	require.NoError(t, err)
	require.Equal(t, execution.Running, view.State)
	unchanged(t, h, func() {
		again, err := h.Local().SubmitInput(bounded(t), id, Answer("op-1", "question", "yes"))
		require.NoError(t, err)
		require.Equal(t, view, again)
	})
	claim := Claim(t, h.Store, id).claim
	require.Len(t, claim.Inbox, 1)
	var input execution.Input
	require.NoError(t, json.Unmarshal(claim.Inbox[0].Payload, &input))
	require.Equal(t, Answer("op-1", "question", "yes").Input, input)
}

func inputReplaysAfterEnd(t *testing.T, h Harness) {
	id := asked(t, h, Elicitation("question"))
	_, err := h.Local().SubmitInput(bounded(t), id, Answer("op-1", "question", "yes"))
	require.NoError(t, err)
	Claim(t, h.Store, id).Complete("done")
	unchanged(t, h, func() {
		view, err := h.Local().SubmitInput(bounded(t), id, Answer("op-1", "question", "yes"))
		require.NoError(t, err)
		require.Equal(t, execution.Completed, view.State)
		_, err = h.Local().SubmitInput(bounded(t), id, Answer("op-1", "question", "no"))
		Refused(t, err, execution.Conflict, "operationId")
	})
}

func inputConflicts(t *testing.T, h Harness) {
	id := asked(t, h, Elicitation("question"))
	_, err := h.Local().SubmitInput(bounded(t), id, Answer("op-1", "question", "yes"))
	require.NoError(t, err)
	unchanged(t, h, func() {
		_, err := h.Local().SubmitInput(bounded(t), id, Answer("op-2", "question", "no"))
		detail := Refused(t, err, execution.InteractionClosed, "input.requestId")
		require.Contains(t, detail, "op-1")
		require.ErrorIs(t, err, execution.ErrInteractionClosed)
		_, err = h.Local().SubmitInput(bounded(t), id, Answer("op-1", "question", "no"))
		Refused(t, err, execution.Conflict, "operationId")
		require.ErrorIs(t, err, execution.ErrConflict)
	})
}

func inputRace(t *testing.T, h Harness) {
	const n = 20
	id := asked(t, h, Elicitation("question"))
	errs := make([]error, n)
	ctx := bounded(t)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			operation := execution.OperationID(fmt.Sprintf("op-%d", i))
			_, errs[i] = h.Local().SubmitInput(ctx, id, Answer(operation, "question", string(operation)))
		})
	}
	all.Wait()
	taken := 0
	for _, err := range errs {
		if err == nil {
			taken++
			continue
		}
		require.ErrorIs(t, err, execution.ErrInteractionClosed)
		require.Contains(t, err.Error(), "answered by operation op-")
	}
	require.Equal(t, 1, taken)
	received := 0
	for _, event := range Log(t, h.Store, id) {
		if event.Payload.EventType() == execution.TypeInteractionReceived {
			received++
		}
	}
	require.Equal(t, 1, received)
}

func decisions(operation execution.OperationID, list ...execution.Decision) execution.SubmitInput {
	return execution.SubmitInput{
		OperationID: operation,
		Input:       execution.Input{Type: execution.ToolApproval, RequestID: "question", Decisions: list},
	}
}

func inputDecides(t *testing.T, h Harness) {
	id := asked(t, h, Unknown("question"))
	first := execution.Decision{CallID: "call_0_0", Decision: execution.Approve}
	answer := execution.Decision{
		CallID: "call_0_1", Decision: execution.Answer, Answer: json.RawMessage(`{"b": 1e400, "a": [null]}`),
	}
	refusals := []struct {
		field string
		list  []execution.Decision
	}{
		{"input.decisions", nil},
		{"input.decisions", []execution.Decision{}},
		{"input.decisions[1].callId", []execution.Decision{first, first}},
		{"input.decisions[1].callId", []execution.Decision{first, {CallID: "call_9_9", Decision: execution.Reject}}},
		{"input.decisions[0].callId", []execution.Decision{{Decision: execution.Reject}}},
		{"input.decisions[1].decision", []execution.Decision{first, {CallID: "call_0_1", Decision: "allow"}}},
		{"input.decisions[1].decision", []execution.Decision{first, {CallID: "call_0_1", Decision: "maybe"}}},
		{"input.decisions[1].answer", []execution.Decision{first, {CallID: "call_0_1", Decision: execution.Answer}}},
		{"input.decisions[0].answer", []execution.Decision{
			{CallID: "call_0_0", Decision: execution.Approve, Answer: json.RawMessage(`1`)}, answer,
		}},
	}
	for _, r := range refusals {
		unchanged(t, h, func() {
			_, err := h.Local().SubmitInput(bounded(t), id, decisions("op-1", r.list...))
			Refused(t, err, execution.InvalidRequest, r.field)
		})
	}
	_, err := h.Local().SubmitInput(bounded(t), id, decisions("op-1", first, answer))
	require.NoError(t, err)
	answer.Answer = json.RawMessage(`{"a":[null],"b":1e400}`) // the same answer, written otherwise
	unchanged(t, h, func() {
		_, err = h.Local().SubmitInput(bounded(t), id, decisions("op-1", first, answer))
		require.NoError(t, err)
	})
}

func inputRefusals(t *testing.T, h Harness) {
	id := asked(t, h, Elicitation("question"))
	mixed := Answer("op-1", "question", "yes")
	mixed.Input.Decisions = []execution.Decision{{CallID: "call_0_0", Decision: execution.Approve}}
	message := Answer("op-1", "question", "yes")
	message.Input.Type = execution.UserMessage
	textual := decisions("op-1", execution.Decision{CallID: "call_0_0", Decision: execution.Approve})
	textual.Input.Text = "yes"
	cases := []struct {
		code  execution.ErrorCode
		field string
		input execution.SubmitInput
	}{
		{execution.InvalidRequest, "operationId", Answer("", "question", "yes")},
		{execution.InvalidRequest, "operationId", Answer("two words", "question", "yes")},
		{execution.InvalidRequest, "input.requestId", Answer("op-1", "", "yes")},
		{execution.InvalidRequest, "input.text", Answer("op-1", "question", "")},
		{execution.InvalidRequest, "input.decisions", mixed},
		{execution.InvalidRequest, "input.text", textual},
		{execution.InvalidRequest, "input.type", message},
		{execution.InvalidRequest, "input.type", decisions("op-1",
			execution.Decision{CallID: "call_0_0", Decision: execution.Approve})},
		{execution.InteractionClosed, "input.requestId", Answer("op-1", "another", "yes")},
		{execution.InvalidRequest, "operationId", Answer(execution.OperationID(strings.Repeat("o", 129)), "question", "yes")},
	}
	for _, c := range cases {
		unchanged(t, h, func() {
			_, err := h.Local().SubmitInput(bounded(t), id, c.input)
			Refused(t, err, c.code, c.field)
		})
	}
}

func inputEnded(t *testing.T, h Harness) {
	id := asked(t, h, Elicitation("question"))
	_, err := h.Local().Cancel(bounded(t), id)
	require.NoError(t, err)
	unchanged(t, h, func() {
		_, err = h.Local().SubmitInput(bounded(t), id, Answer("op-1", "question", "yes"))
		Refused(t, err, execution.ExecutionEnded, "id")
		require.ErrorIs(t, err, execution.ErrExecutionEnded)
	})
}

func cancelQueued(t *testing.T, h Harness) {
	for _, id := range []execution.ID{submit(t, h.Local()), asked(t, h, Elicitation("question"))} {
		steered, err := h.Local().Cancel(bounded(t), id)
		require.NoError(t, err)
		require.True(t, steered.Changed)
		require.Equal(t, execution.Canceled, steered.View.State)
		events := Log(t, h.Store, id)
		require.Equal(t, execution.TypeExecutionCanceled, events[len(events)-1].Payload.EventType())
	}
}

func cancelRunning(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	w := Claim(t, h.Store, id)
	steered, err := h.Local().Cancel(bounded(t), id)
	require.NoError(t, err)
	require.True(t, steered.Changed)
	require.Equal(t, execution.Running, steered.View.State)
	require.True(t, steered.View.CancelRequested)
	unchanged(t, h, func() {
		again, err := h.Local().Cancel(bounded(t), id)
		require.NoError(t, err)
		require.False(t, again.Changed)
	})
	w.Complete("too late")
	view, err := h.Local().Execution(bounded(t), id)
	require.NoError(t, err)
	require.Equal(t, execution.Canceled, view.State)
}

func cancelEnded(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	Claim(t, h.Store, id).Complete("done")
	unchanged(t, h, func() {
		steered, err := h.Local().Cancel(bounded(t), id)
		require.NoError(t, err)
		require.False(t, steered.Changed)
		require.Equal(t, execution.Completed, steered.View.State)
	})
}
