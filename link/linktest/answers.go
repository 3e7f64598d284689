package linktest

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

// tick is how often something is looked at that is waited for.
const tick = 2 * time.Millisecond

// hash is the arguments hash of the suite's calls.
const hash = "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862"

// question is an interaction about calls call_0_0 up to n.
func question(kind execution.InteractionKind, request execution.RequestID, n int) execution.Interaction {
	interaction := execution.Interaction{RequestID: request, Kind: kind, Prompt: "Well?"}
	for i := range n {
		interaction.Calls = append(interaction.Calls, execution.InteractionCall{
			CallID: execution.NewCallID(0, i), Name: "refund", Arguments: json.RawMessage(`{"a":1}`), ArgumentsHash: hash,
		})
	}
	return interaction
}

// parked is an execution that waits, and its worker.
func parked(t *testing.T, h Harness, interaction execution.Interaction) (execution.ID, *Worker) {
	t.Helper()
	id := submit(t, h.Local())
	worker := Claim(t, h.Store, id)
	worker.Ask(interaction)
	return id, worker
}

func inputEdits(t *testing.T, h Harness) {
	id, _ := parked(t, h, question(execution.Approval, "question", 2))
	edit := execution.Decision{
		CallID: "call_0_0", Decision: execution.Edit, Arguments: json.RawMessage(`{"b": 2, "a": 1}`), ArgumentsHash: hash,
	}
	for _, r := range []struct {
		field  string
		change func(*execution.Decision)
	}{
		{"arguments", func(d *execution.Decision) { d.Arguments = nil }},
		{"arguments", func(d *execution.Decision) { d.Arguments = json.RawMessage(`[1]`) }},
		{"arguments", func(d *execution.Decision) { d.Arguments = json.RawMessage(`"text"`) }},
		{"arguments", func(d *execution.Decision) { d.Decision = execution.Approve }},
		{"arguments", func(d *execution.Decision) { d.Arguments = json.RawMessage(`{"b": 10}`) }},
		{"answer", func(d *execution.Decision) { d.Answer = json.RawMessage(`1`) }},
		{"reason", func(d *execution.Decision) { d.Reason = "because" }},
		{"argumentsHash", func(d *execution.Decision) { d.ArgumentsHash = "abc" }},
	} {
		wrong := edit
		r.change(&wrong)
		unchanged(t, h, func() {
			_, err := h.Local().SubmitInput(bounded(t), id, decisions("op-1", wrong))
			Refused(t, err, execution.InvalidRequest, "input.decisions[0]."+r.field)
		})
	}
	large := edit
	large.Arguments = json.RawMessage(`{"b": 10}`)
	_, err := h.Local().SubmitInput(bounded(t), id, decisions("op-1", large))
	require.Equal(t, "do not fit the parameters of refund: at '/b': maximum: got 10, want 9",
		Refused(t, err, execution.InvalidRequest, "input.decisions[0].arguments"))
	other := edit
	other.ArgumentsHash = hash[:63] + "0"
	unchanged(t, h, func() {
		_, err := h.Local().SubmitInput(bounded(t), id, decisions("op-1", other))
		Refused(t, err, execution.Conflict, "input.decisions[0].argumentsHash")
	})
	view, err := h.Local().SubmitInput(bounded(t), id, decisions("op-1", edit))
	require.NoError(t, err, "a decision for each call is not asked for")
	require.Equal(t, execution.Running, view.State)
	edit.Arguments = json.RawMessage(`{"a":1,"b":2}`) // the same, written otherwise
	unchanged(t, h, func() {
		_, err = h.Local().SubmitInput(bounded(t), id, decisions("op-1", edit))
		require.NoError(t, err)
		late := decisions("op-2", execution.Decision{CallID: "call_0_1", Decision: execution.Approve})
		_, err = h.Local().SubmitInput(bounded(t), id, late)
		require.Contains(t, Refused(t, err, execution.InteractionClosed, "input.requestId"), "op-1")
	})
}

func inputEditsUnknown(t *testing.T, h Harness) {
	id := asked(t, h, Unknown("question"))
	unchanged(t, h, func() {
		_, err := h.Local().SubmitInput(bounded(t), id, decisions("op-1", execution.Decision{
			CallID: "call_0_0", Decision: execution.Edit, Arguments: json.RawMessage(`{}`),
		}))
		Refused(t, err, execution.InvalidRequest, "input.decisions[0].decision")
	})
}

func inputByForm(t *testing.T, h Harness) {
	form := question(execution.Elicitation, "question", 1)
	form.Schema = json.RawMessage(`{"type":"object","properties":{"seats":{"type":"integer","maximum":9}},"required":["seats"]}`)
	respond := func(change func(*execution.Input)) execution.SubmitInput {
		input := execution.SubmitInput{
			OperationID: "op-1", Input: execution.Input{Type: execution.ElicitationResponse, RequestID: "question"},
		}
		change(&input.Input)
		return input
	}
	id, _ := parked(t, h, form)
	for _, r := range []struct {
		field  string
		change func(*execution.Input)
	}{
		{"input.content", func(in *execution.Input) { in.Text = "two" }},
		{"input.text", func(*execution.Input) {}},
		{"input.content", func(in *execution.Input) { in.Content = json.RawMessage(`{"seats":"two"}`) }},
		{"input.content", func(in *execution.Input) { in.Content = json.RawMessage(`{"seats":10}`) }},
		{"input.content", func(in *execution.Input) { in.Content = json.RawMessage(`{}`) }},
		{"input.text", func(in *execution.Input) { in.Content, in.Text = json.RawMessage(`{"seats":2}`), "two" }},
		{"input.text", func(in *execution.Input) { in.Declined, in.Text = true, "no" }},
		{"input.content", func(in *execution.Input) { in.Declined, in.Content = true, json.RawMessage(`{"seats":2}`) }},
		{"input.callId", func(in *execution.Input) { in.Declined, in.CallID = true, "call_0_0" }},
		{"input.result", func(in *execution.Input) { in.Declined, in.Result = true, json.RawMessage(`1`) }},
		{"input.isError", func(in *execution.Input) { in.Declined, in.IsError = true, true }},
	} {
		unchanged(t, h, func() {
			_, err := h.Local().SubmitInput(bounded(t), id, respond(r.change))
			Refused(t, err, execution.InvalidRequest, r.field)
		})
	}
	view, err := h.Local().SubmitInput(bounded(t), id, respond(func(in *execution.Input) {
		in.Content = json.RawMessage(`{"seats": 2}`)
	}))
	require.NoError(t, err)
	require.Equal(t, execution.Running, view.State)

	form.Schema = json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","maxLength":3}},"required":["name"]}`)
	id, _ = parked(t, h, form)
	unchanged(t, h, func() {
		_, err := h.Local().SubmitInput(bounded(t), id, respond(func(in *execution.Input) { in.Text = "Alexander" }))
		Refused(t, err, execution.InvalidRequest, "input.content")
	})
	_, err = h.Local().SubmitInput(bounded(t), id, respond(func(in *execution.Input) { in.Text = "Ann" }))
	require.NoError(t, err, "a text is enough where one is asked for")

	for _, kind := range []execution.InteractionKind{execution.Elicitation, execution.Authentication} {
		id, _ = parked(t, h, question(kind, "question", 1))
		unchanged(t, h, func() {
			_, err := h.Local().SubmitInput(bounded(t), id, respond(func(in *execution.Input) { in.Content = json.RawMessage(`1`) }))
			Refused(t, err, execution.InvalidRequest, "input.content")
		})
		_, err = h.Local().SubmitInput(bounded(t), id, respond(func(in *execution.Input) { in.Declined = true }))
		require.NoError(t, err)
	}
}

// resultOf is the result of a call; the request id may be empty.
func resultOf(request execution.RequestID, call execution.CallID) execution.SubmitInput {
	return execution.SubmitInput{
		OperationID: execution.OperationID("result-of-" + call),
		Input: execution.Input{
			Type: execution.ToolResultInput, RequestID: request, CallID: call, Result: json.RawMessage(`{"ok": true}`),
		},
	}
}

func inputResults(t *testing.T, h Harness) {
	id, worker := parked(t, h, question(execution.ClientToolResult, "question", 2))
	for field, change := range map[string]func(*execution.Input){
		"input.callId":    func(in *execution.Input) { in.CallID = "" },
		"input.result":    func(in *execution.Input) { in.Result = nil },
		"input.text":      func(in *execution.Input) { in.Text = "done" },
		"input.decisions": func(in *execution.Input) { in.Decisions = []execution.Decision{{}} },
		"input.content":   func(in *execution.Input) { in.Content = json.RawMessage(`1`) },
		"input.declined":  func(in *execution.Input) { in.Declined = true },
	} {
		wrong := resultOf("question", "call_0_0")
		change(&wrong.Input)
		unchanged(t, h, func() {
			_, err := h.Local().SubmitInput(bounded(t), id, wrong)
			Refused(t, err, execution.InvalidRequest, field)
		})
	}
	unchanged(t, h, func() {
		_, err := h.Local().SubmitInput(bounded(t), id, resultOf("question", "call_9_9"))
		Refused(t, err, execution.InvalidRequest, "input.callId")
		_, err = h.Local().SubmitInput(bounded(t), id, resultOf("", "call_9_9"))
		Refused(t, err, execution.Conflict, "input.callId")
		_, err = h.Local().SubmitInput(bounded(t), id, Answer("op-1", "question", "yes"))
		Refused(t, err, execution.InvalidRequest, "input.type")
	})
	view, err := h.Local().SubmitInput(bounded(t), id, resultOf("", "call_0_1"))
	require.NoError(t, err)
	require.Equal(t, execution.Running, view.State)
	again := func() {
		unchanged(t, h, func() {
			_, err := h.Local().SubmitInput(bounded(t), id, resultOf("", "call_0_1"))
			require.NoError(t, err, "repeated")
			other := resultOf("", "call_0_1")
			other.OperationID = "op-2"
			_, err = h.Local().SubmitInput(bounded(t), id, other)
			require.Contains(t, Refused(t, err, execution.InteractionClosed, "input.callId"), "result-of-call_0_1")
			other = resultOf("", "call_0_1")
			other.Input.IsError = true
			_, err = h.Local().SubmitInput(bounded(t), id, other)
			Refused(t, err, execution.Conflict, "operationId")
		})
	}
	again()
	worker.AskAgain("question", question(execution.ClientToolResult, "question-2", 1))
	again()
	view, err = h.Local().SubmitInput(bounded(t), id, resultOf("question", "call_0_0"))
	require.NoError(t, err, "the request id of the first question is as good as that of the one that is open")
	require.Equal(t, execution.Running, view.State)
}

func inputResultsAtOnce(t *testing.T, h Harness) {
	const n = 4
	interaction := question(execution.ClientToolResult, "question-0", n)
	id, worker := parked(t, h, interaction)
	var posted sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		posted.Go(func() {
			_, errs[i] = h.Local().SubmitInput(bounded(t), id, resultOf("question-0", execution.NewCallID(0, i)))
		})
	}
	done, open := map[execution.CallID]bool{}, interaction.RequestID
	for round := 1; round < n; round++ { // the worker takes what came and asks for the rest
		require.Eventually(t, func() bool {
			row, err := h.Store.Get(bounded(t), id)
			return err == nil && row.State == execution.Running
		}, deadline, tick)
		row, err := h.Store.Get(bounded(t), id)
		require.NoError(t, err)
		for _, receipt := range row.InputReceipts {
			var given execution.Input
			require.NoError(t, json.Unmarshal([]byte(receipt.ResponseText), &given))
			done[given.CallID] = true
		}
		require.Len(t, done, round, "one answer per question")
		rest := question(execution.ClientToolResult, execution.RequestID(fmt.Sprintf("question-%d", round)), 0)
		for _, call := range interaction.Calls {
			if !done[call.CallID] {
				rest.Calls = append(rest.Calls, call)
			}
		}
		worker.AskAgain(open, rest)
		open = rest.RequestID
	}
	posted.Wait()
	for i, err := range errs {
		require.NoError(t, err, "call %d", i)
	}
}

func inputResolvesUnknown(t *testing.T, h Harness) {
	id := asked(t, h, Unknown("question"))
	view, err := h.Local().SubmitInput(bounded(t), id, resultOf("", "call_0_1"))
	require.NoError(t, err)
	require.Equal(t, execution.Running, view.State)
}
