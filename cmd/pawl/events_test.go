package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

func everything() []execution.StreamItem {
	event := func(sequence execution.Sequence, second int, payload execution.Payload) execution.StreamItem {
		return execution.StreamItem{Execution: anID, Event: &execution.Event{
			Sequence: sequence, OccurredAtMs: atLocal(second), Payload: payload,
		}}
	}
	return []execution.StreamItem{
		event(1, 0, &execution.ExecutionQueued{}),
		{Execution: anID, Frame: &execution.Frame{Type: execution.FrameTextDelta, Step: 3, Text: "hi\nyou"}},
		event(2, 1, &execution.ExecutionFailed{Code: "internal", Message: "it\x1b[31m broke"}),
		event(3, 2, &execution.UnknownEvent{Type: "tea_ready", Fields: []byte(`{"cups":2}`)}),
		{Execution: anID, Event: &execution.Event{Sequence: 4, Payload: &execution.UnreadableEvent{}}},
	}
}

func TestEvents_FollowsEverything(t *testing.T) {
	t.Parallel()
	lost := execution.NewAPIError(execution.Unavailable, "x").Because(errors.New("refused"))
	follow := func(args ...string) (result, *fakeRemote) {
		fake := newFake(execution.View{})
		for _, item := range everything() {
			fake.items <- received{item: item}
		}
		fake.items <- received{err: lost}
		return typeCommand(t, fake, false, nil, append([]string{"events"}, args...)...), fake
	}
	got, _ := follow()
	id := string(anID)
	require.Equal(t, "2026-01-31 08:00:00  "+id+"  execution_queued    \n"+
		"2026-01-31 08:00:01  "+id+"  execution_failed      internal  it[31m broke\n"+
		"2026-01-31 08:00:02  "+id+"  tea_ready           \n"+
		"                     "+id+"  unreadable            it is damaged, or of another release\n", got.out)
	require.Equal(t, exitNoAnswer, got.code)
	require.Contains(t, got.err, "no API answers")

	got, fake := follow("--json", "--types", "text_delta,execution_failed", "--since", "2026-01-31T08:00:00Z")
	lines := strings.Split(got.out, "\n")
	require.JSONEq(t, `{"executionId": "`+id+`", "type": "text_delta", "step": 3, "text": "hi\nyou"}`, lines[1])
	require.Regexp(t, `^{"executionId":"`+id+`","sequence":3,"occurredAtMs":\d+,"type":"tea_ready","cups":2}$`, lines[3])
	require.Equal(t, []string{"events 1769846400 [text_delta execution_failed]"}, fake.calls)
}

func TestEvents_EndsWhenItIsInterrupted(t *testing.T) {
	t.Parallel()
	fake := newFake(execution.View{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs strings.Builder
	require.Equal(t, exitInterrupted, run(ctx, []string{"events"}, streams{out: &out, err: &errs}, fake.dial))
	require.Empty(t, out.String()+errs.String())
}
