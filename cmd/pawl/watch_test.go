package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

func ptr[T any](v T) *T { return &v }

func question(kind execution.InteractionKind) execution.View {
	return execution.View{State: execution.WaitingForInput, Interaction: &execution.Interaction{
		RequestID: "req-1", Kind: kind, Prompt: "Book it?",
		Calls: []execution.InteractionCall{
			{CallID: "call_0_1", Name: "confirm", Arguments: json.RawMessage(`{"question":"Book it?"}`)},
			{CallID: "call_0_2", Name: "refund", Arguments: json.RawMessage(`{}`)},
		},
	}}
}

func TestWatch_PrintsOneLinePerEventInAPipe(t *testing.T) {
	t.Parallel()
	fake := newFake(execution.View{State: execution.Completed})
	fake.frame("Boo")
	fake.send(
		&execution.ExecutionQueued{}, &execution.ExecutionStarted{}, &execution.ModelStarted{Turn: 0},
		&execution.ModelCompleted{Turn: 0, FinishReason: "tool_calls", InputTokens: ptr(int64(10)), OutputTokens: ptr(int64(5))},
		&execution.ToolStarted{CallID: "call_0_0", Name: "lookup"},
		&execution.ToolCompleted{CallID: "call_0_0", Name: "lookup", Failed: true},
		&execution.Warning{Code: "reclaimed", Message: "the worker\ndied"},
		&execution.RetryScheduled{Node: "before_model_request", Attempt: 2, AtMs: 1_001_700, Code: "rate_limited", Message: "429:\nslow down"},
		&execution.InteractionRequired{RequestID: "r", Kind: execution.Elicitation, Prompt: "Book it?"},
		&execution.InteractionReceived{RequestID: "r"},
		&execution.ExecutionCompleted{Answer: "Booked.\x1b[2J\nHave fun."},
	)
	fake.end()
	got := typeCommand(t, fake, false, nil, "watch", string(anID))
	require.Equal(t, result{code: 0, out: `           exec_0701JDXR4N5Q8ZT7V2M3K4P5W6X7  (Ctrl-C leaves it running)
   0.000s  execution_queued
   0.100s  execution_started
   0.200s  model_started         model  turn 0
   0.300s  model_completed       model  turn 0  tool_calls  10+5 tokens  100ms
   0.400s  tool_started          lookup  call_0_0
   0.500s  tool_completed        lookup  call_0_0  failed  100ms
   0.600s  warning               reclaimed  the worker died
   0.700s  retry_scheduled       before_model_request  attempt 2 in 1s  rate_limited  429: slow down
   0.800s  interaction_required  elicitation  Book it?
   0.900s  interaction_received  100ms
   1.000s  execution_completed   Booked.[2J Have fun.
`}, got)
}

func TestWatch_ShowsTextInlineOnATerminal(t *testing.T) {
	t.Parallel()
	fake := newFake(execution.View{State: execution.Completed})
	fake.send(&execution.ExecutionQueued{})
	for _, text := range []string{"Boo", "ked.\nHave", " fun."} {
		fake.frame(text)
	}
	fake.send(&execution.ExecutionCompleted{Answer: "Booked.\nHave fun."})
	fake.end()
	got := typeCommand(t, fake, true, strings.NewReader(""), "watch", string(anID))
	require.True(t, strings.HasSuffix(got.out, `   0.000s  execution_queued
          │ Booked.
          │ Have fun.
   0.000s  execution_completed
`), got.out)
}

func TestWatch_ShowsTextOnceWhenAStreamIsOpenedAnew(t *testing.T) {
	t.Parallel()
	fake := newFake(execution.View{State: execution.Completed})
	fake.send(&execution.ExecutionQueued{})
	for _, f := range []execution.Frame{
		{InvocationID: "inv_0", Text: "Boo"},
		{InvocationID: "inv_0", Offset: 3, Text: "ked."},
		{InvocationID: "inv_0", Text: "Booked.\nHave"}, // the answer so far
		{InvocationID: "inv_0", Offset: 12, Text: " fun."},
		{InvocationID: "inv_0", Text: "Bo"}, // the request is made again …
		{InvocationID: "inv_0", Offset: 2, Text: "th."},
	} {
		f.Type = execution.FrameTextDelta
		fake.items <- received{item: execution.StreamItem{Frame: &f}}
	}
	fake.send(&execution.ExecutionCompleted{Answer: "Both."})
	fake.end()
	got := typeCommand(t, fake, true, strings.NewReader(""), "watch", string(anID))
	require.True(t, strings.HasSuffix(got.out, `
          │ Booked.
          │ Have fun.
          │ Both.
   0.000s  execution_completed
`), got.out)
}

func TestWatch_PrintsAnAnswerThatItHasNotShownAtTheEndOfATerminal(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]func(*fakeRemote){
		"no text came":                         func(*fakeRemote) {},
		"it came too late for the first words": func(f *fakeRemote) { f.frame("fun.") },
		"the text was of another turn": func(f *fakeRemote) {
			f.frame("Booked.\nHave fun.")
			f.send(&execution.ModelStarted{Turn: 1})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := newFake(execution.View{State: execution.Completed})
			script(fake)
			fake.send(&execution.ExecutionCompleted{Answer: "Booked.\nHave fun."})
			fake.end()
			got := typeCommand(t, fake, true, strings.NewReader(""), "watch", string(anID))
			require.True(t, strings.HasSuffix(got.out, "  execution_completed\n\nBooked.\nHave fun.\n"), got.out)
		})
	}
}

func TestWatch_ExitsWithTheCodeOfTheEnd(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		payload execution.Payload
		state   execution.State
		code    int
	}{
		"completed": {&execution.ExecutionCompleted{}, execution.Completed, 0},
		"failed":    {&execution.ExecutionFailed{Code: "internal", Message: "x"}, execution.Failed, 1},
		"canceled":  {&execution.ExecutionCanceled{}, execution.Canceled, 3},
		"suspended": {&execution.ExecutionSuspended{Reason: execution.ReasonPaused}, execution.Suspended, 4},
		"unseen":    {&execution.ExecutionStarted{}, execution.Failed, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := newFake(execution.View{State: tc.state})
			fake.send(&execution.ExecutionQueued{}, tc.payload)
			fake.end()
			require.Equal(t, tc.code, typeCommand(t, fake, false, nil, "watch", string(anID)).code)
		})
	}
}

func TestWatch_SaysHowToResumeWhatIsSuspended(t *testing.T) {
	t.Parallel()
	fake := newFake(execution.View{State: execution.Suspended})
	fake.send(&execution.ExecutionSuspended{Reason: execution.ReasonRetriesExhausted})
	got := typeCommand(t, fake, false, nil, "watch", string(anID))
	require.Equal(t, exitSuspended, got.code)
	require.Contains(t, got.out, ": pawl resume "+string(anID)+"\n")
}

func TestWatch_GoesOnAfterASuspensionThatWasResumedSince(t *testing.T) {
	t.Parallel()
	fake := newFake(execution.View{State: execution.Completed})
	fake.send(&execution.ExecutionSuspended{Reason: execution.ReasonPaused}, &execution.ExecutionResumed{},
		&execution.ExecutionCompleted{})
	fake.end()
	require.Equal(t, 0, typeCommand(t, fake, false, nil, "watch", string(anID)).code)
}

func TestWatch_PrintsTheCommandThatAnswersWhenNobodyCanBeAsked(t *testing.T) {
	t.Parallel()
	for kind, want := range map[execution.InteractionKind]string{
		execution.Elicitation: fmt.Sprintf("pawl input %s --request req-1 \"your answer\"\n", anID),
		execution.Approval: fmt.Sprintf("call_0_2  refund {}\n           Waiting for a person. Answer with: pawl input %s --request req-1 --approve "+
			"(or --reject, --edit ARGUMENTS, --answer RESULT; --call CALL for one of them)\n", anID),
		execution.ClientToolResult: fmt.Sprintf("Waiting for a result. Answer with: pawl input %s --call call_0_1 --result RESULT\n", anID),
	} {
		fake := newFake(question(kind))
		fake.send(&execution.InteractionRequired{RequestID: "req-0", Kind: kind, Prompt: "an older one"},
			&execution.InteractionRequired{RequestID: "req-1", Kind: kind, Prompt: "Book it?"},
			&execution.ExecutionCompleted{})
		fake.end()
		got := typeCommand(t, fake, false, nil, "watch", string(anID))
		require.Contains(t, got.out, want)
		require.Equal(t, 1, strings.Count(got.out, "Answer with"), "a question that was answered is history")
	}
}

func TestWatch_AsksForATextAtAPrompt(t *testing.T) {
	t.Parallel()
	fake := newFake(question(execution.Elicitation))
	fake.onInput = func(execution.SubmitInput) {
		fake.send(&execution.InteractionReceived{RequestID: "req-1"}, &execution.ExecutionCompleted{Answer: "Booked."})
		fake.end()
	}
	fake.send(&execution.InteractionRequired{RequestID: "req-1", Kind: execution.Elicitation, Prompt: "Book it?"})
	// The line comes when the question is there: what is typed before is not an answer.
	reader, writer := io.Pipe()
	go func() { _, _ = writer.Write([]byte("\nyes\n")) }() // a write to a pipe waits for its reader
	got := typeCommand(t, fake, true, reader, "watch", string(anID))
	require.Equal(t, 0, got.code)
	require.Contains(t, got.out, "Book it? > ")
	require.NotContains(t, got.out, "Answered elsewhere")
	require.Len(t, fake.inputs, 1)
	require.NotEmpty(t, fake.inputs[0].OperationID)
	require.Equal(t, execution.Input{Type: execution.ElicitationResponse, RequestID: "req-1", Text: "yes"}, fake.inputs[0].Input)
}

func TestWatch_AsksForADecisionOnEachCallOfAnApproval(t *testing.T) {
	t.Parallel()
	fake := newFake(question(execution.Approval))
	fake.onInput = func(execution.SubmitInput) {
		fake.send(&execution.ExecutionCompleted{})
		fake.end()
	}
	fake.send(&execution.InteractionRequired{RequestID: "req-1", Kind: execution.Approval, Prompt: "Allowed?"})
	got := typeCommand(t, fake, true, strings.NewReader("what\na\nr too dear\n"), "watch", string(anID))
	require.Equal(t, 0, got.code)
	require.Contains(t, got.out, "refund {}")
	require.Contains(t, got.out, "Type a (approve)")
	require.Equal(t, []execution.Decision{
		{CallID: "call_0_1", Decision: execution.Approve}, {CallID: "call_0_2", Decision: execution.Reject, Reason: "too dear"},
	}, fake.inputs[0].Input.Decisions)
}

func TestWatch_AnAnswerFromElsewhereEndsThePrompt(t *testing.T) {
	t.Parallel()
	fake := newFake(question(execution.Elicitation))
	reader, _ := io.Pipe()
	fake.send(&execution.InteractionRequired{RequestID: "req-1", Kind: execution.Elicitation, Prompt: "Book it?"},
		&execution.InteractionReceived{RequestID: "req-1"}, &execution.ExecutionCompleted{})
	fake.end()
	got := typeCommand(t, fake, true, reader, "watch", string(anID))
	require.Equal(t, 0, got.code)
	require.Contains(t, got.out, "Book it? > \n   0.100s  interaction_received  100ms\n           Answered elsewhere.\n",
		"what comes while a prompt is open begins on a line of its own")
}

func TestWatch_AClosedTerminalLeavesTheAnswerToACommand(t *testing.T) {
	t.Parallel()
	fake := newFake(question(execution.Elicitation))
	fake.send(&execution.InteractionRequired{RequestID: "req-1", Kind: execution.Elicitation, Prompt: "Book it?"})
	ctx, stop := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer stop()
	var out strings.Builder
	code := run(ctx, []string{"watch", string(anID)}, streams{
		in: strings.NewReader(""), out: &out, err: &out, inTerminal: true, outTerminal: true,
	}, fake.dial)
	require.Equal(t, exitInterrupted, code)
	require.Contains(t, out.String(), "Book it? > \n           Nothing more can be typed here. Answer with: pawl input "+
		string(anID)+" --request req-1 \"your answer\"\n")
}

func TestSelf_IsWhatAPersonCanType(t *testing.T) {
	t.Parallel()
	for program, want := range map[string]string{
		"pawl":                           "pawl",
		"./bin/pawl":                     "pawl",
		"/tmp/go-build123/b001/exe/pawl": "go run ./cmd/pawl",
		"/home/a/go-build/pawl":          "pawl",
		"/c/3f/" + strings.Repeat("a", 64) + "-d/pawl": "go run ./cmd/pawl",
	} {
		require.Equal(t, want, selfFrom(program), program)
	}
}

func TestExamples_CanBeTyped(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Try:\n  go run ./cmd/pawl dev\n  go run ./cmd/pawl submit a\n", asTyped("go run ./cmd/pawl",
		"Try:\n  pawl dev\n  pawl submit a\n"))
	require.Equal(t, "  pawl dev", asTyped("pawl", "  pawl dev"))
	for command, want := range map[string]string{
		"-h": "  pawl dev\n  pawl submit ", "submit -h": "  pawl submit --watch demo", "input -h": "  pawl input exec_07… --approve",
	} {
		require.Contains(t, typeCommand(t, newFake(execution.View{}), false, nil, strings.Fields(command)...).out, want)
	}
}

func TestWatch_CtrlCLeavesItRunningAndSaysHowToComeBack(t *testing.T) {
	t.Parallel()
	fake := newFake(execution.View{State: execution.Running})
	fake.send(&execution.ExecutionQueued{})
	ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	var out strings.Builder
	code := run(ctx, []string{"watch", string(anID)}, streams{out: &out, err: &out}, fake.dial)
	require.Equal(t, exitInterrupted, code)
	require.Contains(t, out.String(), "Come back with: pawl watch "+string(anID))
}

func TestWatch_PrintsEventsAsJSONLines(t *testing.T) {
	t.Parallel()
	fake := newFake(execution.View{State: execution.Completed})
	fake.send(&execution.ExecutionQueued{}, &execution.ExecutionCompleted{Answer: "Booked."})
	fake.end()
	got := typeCommand(t, fake, true, nil, "watch", "--json", string(anID))
	require.Equal(t, `{"sequence":1,"occurredAtMs":1000000,"type":"execution_queued"}
{"sequence":2,"occurredAtMs":1000100,"type":"execution_completed","answer":"Booked."}
`, got.out)
}

func TestDecide_ReadsOneLine(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]execution.Decision{
		"a": {Decision: execution.Approve}, "Yes": {Decision: execution.Approve}, "n": {Decision: execution.Reject},
		"t 42":        {Decision: execution.Answer, Answer: json.RawMessage(`42`)},
		"t it":        {Decision: execution.Answer, Answer: json.RawMessage(`"it"`)},
		"e {\"a\":1}": {Decision: execution.Edit, Arguments: json.RawMessage(`{"a":1}`)},
		"l":           {},
	} {
		decision, later, ok := decide(line)
		require.Equal(t, line == "l", later)
		require.True(t, ok, line)
		require.Equal(t, want, decision)
	}
	for _, line := range []string{"x", "a lot", "t", "", "e", "e 1", "e [1]", "l now"} {
		_, _, ok := decide(line)
		require.False(t, ok, line)
	}
}
