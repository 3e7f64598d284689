package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

const formSchema = `{"type":"object","properties":{
	"name": {"type":"string","description":"Who travels"}, "seats": {"type":"integer"}, "class": {"enum":["one","two"]},
	"meal": {"type":"boolean"}},"required":["name","seats"]}`

// asking is an execution that waits for what kind asks.
func asking(kind execution.InteractionKind, change func(*execution.Interaction)) *fakeRemote {
	view := question(kind)
	view.Interaction.Calls[0].ArgumentsHash = "5d0f"
	if change != nil {
		change(view.Interaction)
	}
	return newFake(view)
}

func TestInput_TakesDecisionsEditsFormsAndResults(t *testing.T) {
	t.Parallel()
	form := func(i *execution.Interaction) { i.Schema = json.RawMessage(formSchema) }
	approval := func(decisions ...execution.Decision) execution.Input {
		return execution.Input{Type: execution.ToolApproval, RequestID: "req-1", Decisions: decisions}
	}
	response := func(change func(*execution.Input)) execution.Input {
		input := execution.Input{Type: execution.ElicitationResponse, RequestID: "req-1"}
		change(&input)
		return input
	}
	for name, c := range map[string]struct {
		fake *fakeRemote
		args []string
		want execution.Input
	}{
		"an edit of one call": {
			asking(execution.Approval, nil),
			[]string{"--edit", `{"amount": 40}`, "--call", "call_0_1"},
			approval(execution.Decision{
				CallID: "call_0_1", Decision: execution.Edit, Arguments: json.RawMessage(`{"amount": 40}`), ArgumentsHash: "5d0f",
			}),
		},
		"a decision for each": {
			asking(execution.Approval, nil),
			[]string{"--decide", "call_0_1=approve", "--decide", "call_0_2=reject too expensive"},
			approval(
				execution.Decision{CallID: "call_0_1", Decision: execution.Approve, ArgumentsHash: "5d0f"},
				execution.Decision{CallID: "call_0_2", Decision: execution.Reject, Reason: "too expensive"}),
		},
		"edits and answers for each": {
			asking(execution.Approval, nil),
			[]string{"--decide", `call_0_1=edit {"a": 1}`, "--decide", "call_0_2=answer 42"},
			approval(
				execution.Decision{
					CallID: "call_0_1", Decision: execution.Edit, Arguments: json.RawMessage(`{"a": 1}`), ArgumentsHash: "5d0f",
				},
				execution.Decision{CallID: "call_0_2", Decision: execution.Answer, Answer: json.RawMessage(`42`)}),
		},
		"the fields of a form": {
			asking(execution.Elicitation, form),
			[]string{"--field", "seats=2", "--field", "name=Ann Lee"},
			response(func(in *execution.Input) { in.Content = json.RawMessage(`{"name":"Ann Lee","seats":2}`) }),
		},
		"the content of a form": {
			asking(execution.Elicitation, form),
			[]string{"--content", `{"seats":2}`},
			response(func(in *execution.Input) { in.Content = json.RawMessage(`{"seats":2}`) }),
		},
		"an object as a text": {
			asking(execution.Elicitation, form),
			[]string{`{"seats":2}`},
			response(func(in *execution.Input) { in.Content = json.RawMessage(`{"seats":2}`) }),
		},
		"a refusal": {
			asking(execution.Authentication, nil),
			[]string{"--decline"},
			response(func(in *execution.Input) { in.Declined = true }),
		},
		"a result": {
			asking(execution.ClientToolResult, nil),
			[]string{"--result", `{"ok": true}`, "--call", "call_0_2"},
			execution.Input{
				Type: execution.ToolResultInput, RequestID: "req-1", CallID: "call_0_2", Result: json.RawMessage(`{"ok": true}`),
			},
		},
		"a result of the only call, which failed": {
			asking(execution.ClientToolResult, func(i *execution.Interaction) { i.Calls = i.Calls[:1] }),
			[]string{"--result", "no such page", "--failed"},
			execution.Input{
				Type: execution.ToolResultInput, RequestID: "req-1", CallID: "call_0_1", Result: json.RawMessage(`"no such page"`),
				IsError: true,
			},
		},
		"a result that comes early": {
			newFake(execution.View{State: execution.Running}),
			[]string{"--result", "1", "--call", "call_0_1"},
			execution.Input{Type: execution.ToolResultInput, CallID: "call_0_1", Result: json.RawMessage(`1`)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := typeCommand(t, c.fake, false, nil, append([]string{"input", string(anID)}, c.args...)...)
			require.Equal(t, 0, got.code, got.err)
			require.Equal(t, c.want, c.fake.inputs[0].Input)
		})
	}
}

func TestInput_MistakesInRepliesSayWhatToDo(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"--edit 1 --call call_0_1":              "the arguments must be a JSON object",
		"--edit {}":                             "--edit is about one call",
		"--decide call_0_1":                     "--decide: want CALL=DECISION",
		"--decide call_0_1=maybe":               "--decide call_0_1: want approve, reject, edit or answer",
		"--decide call_0_1=approve --call x":    "--call belongs to",
		"--decide call_0_1=approve --approve":   "give exactly one of",
		"--approve --failed":                    "--failed belongs to --result",
		"--result 1":                            "name it with --call",
		"--result 1 --call a --call b":          "name it with --call",
		"--decline":                             "asks for an approval",
		"--field a=1":                           "asks for an approval",
		"--approve --reason because":            "--reason belongs to --reject",
		"--result 1 --call a --operation two,,": "--operation",
	} {
		fake := asking(execution.Approval, nil)
		got := typeCommand(t, fake, false, nil, append([]string{"input", string(anID)}, strings.Fields(line)...)...)
		require.Equal(t, exitUsage, got.code, line)
		require.Contains(t, got.err, want, line)
		require.Empty(t, fake.inputs)
	}
	got := typeCommand(t, asking(execution.Approval, nil), false, nil, "input", string(anID), "--decide", "call_0_1=answer null")
	require.Equal(t, exitUsage, got.code)
	require.Contains(t, got.err, "--decide call_0_1: the answer must not be null")
	got = typeCommand(t, asking(execution.ClientToolResult, nil), false, nil, "input", string(anID), "--approve")
	require.Contains(t, got.err, "use --result")
}

// typed is what a watch submits when these lines are typed at its prompt.
func typed(t *testing.T, fake *fakeRemote, kind execution.InteractionKind, lines string) (result, execution.Input) {
	t.Helper()
	fake.onInput = func(execution.SubmitInput) {
		fake.send(&execution.ExecutionCompleted{})
		fake.end()
	}
	fake.send(&execution.InteractionRequired{RequestID: "req-1", Kind: kind, Prompt: "Book it?"})
	got := typeCommand(t, fake, true, strings.NewReader(lines), "watch", string(anID))
	require.Equal(t, 0, got.code, got.err)
	require.Len(t, fake.inputs, 1)
	return got, fake.inputs[0].Input
}

func TestWatch_AsksForTheFieldsOfAForm(t *testing.T) {
	t.Parallel()
	fake := asking(execution.Elicitation, func(i *execution.Interaction) { i.Schema = json.RawMessage(formSchema) })
	got, input := typed(t, fake, execution.Elicitation, "\nAnn Lee\ntwo\n2\n\nyes\n")
	require.Contains(t, got.out, "Book it?\nname (string) Who travels > ")
	require.Contains(t, got.out, "name is required; /decline refuses to answer.")
	require.Contains(t, got.out, "seats must be a value of type integer.")
	require.Contains(t, got.out, "class (one of one, two; may be empty) > ")
	require.JSONEq(t, `{"name":"Ann Lee","seats":2,"meal":true}`, string(input.Content))

	fake = asking(execution.Elicitation, nil)
	_, input = typed(t, fake, execution.Elicitation, "/decline\n")
	require.True(t, input.Declined)
}

func TestWatch_TakesEditsAndLeavesCallsForLater(t *testing.T) {
	t.Parallel()
	got, input := typed(t, asking(execution.Approval, nil), execution.Approval, "l\nl\ne 1\ne {\"a\": 2}\nl\n")
	require.Contains(t, got.out, "[a]pprove, [e]dit, [r]eject, [t]ake another result, or [l]ater? > ")
	require.Contains(t, got.out, "Nothing was decided")
	require.Equal(t, []execution.Decision{{
		CallID: "call_0_1", Decision: execution.Edit, Arguments: json.RawMessage(`{"a": 2}`), ArgumentsHash: "5d0f",
	}}, input.Decisions)
}

func TestWatch_AsksForTheResultOfACall(t *testing.T) {
	t.Parallel()
	got, input := typed(t, asking(execution.ClientToolResult, nil), execution.ClientToolResult, "! it is closed\n")
	require.Contains(t, got.out, `its result (JSON or text; with ! in front, its error) > `)
	require.Equal(t, execution.Input{
		Type: execution.ToolResultInput, RequestID: "req-1", CallID: "call_0_1", Result: json.RawMessage(`"it is closed"`), IsError: true,
	}, input)
}
