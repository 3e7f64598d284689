package linktest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

// damagedLog is an execution with a log of eight events, of which the second and the fifth, with its time, cannot be read; and
// what is to be seen of it.
func damagedLog(t *testing.T, h Harness) (*Worker, execution.ID, []execution.Event) {
	t.Helper()
	id := submit(t, h.Local())
	w := Claim(t, h.Store, id)
	w.Warnings(6)
	want := Log(t, h.Store, id)
	require.Len(t, want, 8)
	h.DamageEvent(id, 2, false)
	h.DamageEvent(id, 5, true)
	want[1].Payload = &execution.UnreadableEvent{}
	want[4] = execution.Event{Sequence: 5, Payload: &execution.UnreadableEvent{}}
	return w, id, want
}

func damagedPages(t *testing.T, h Harness) {
	_, id, want := damagedLog(t, h)
	unchanged(t, h, func() {
		for after := range execution.Sequence(8) {
			for _, limit := range []int{1, 3, 100} {
				page, err := h.Local().Events(bounded(t), id, after, limit)
				require.NoError(t, err)
				end := min(int(after)+limit, 8)
				require.Equal(t, execution.EventPage{
					Events: want[after:end], NextAfter: execution.Sequence(end), HasMore: end < 8, //nolint:gosec // it is small
				}, page)
			}
		}
	})
}

func damagedStreams(t *testing.T, h Harness) {
	w, id, want := damagedLog(t, h)
	ctx := bounded(t)
	open := make([]execution.Stream, len(want))
	for after := range want { // each stands at another event, also right before and right behind a damaged one
		stream, err := h.Local().Follow(ctx, id, execution.Sequence(after)) //nolint:gosec // it is small
		require.NoError(t, err)
		defer func() { require.NoError(t, stream.Close()) }()
		first, err := stream.Next(ctx)
		require.NoError(t, err)
		require.Equal(t, &want[after], first.Event)
		open[after] = stream
	}
	w.Warnings(2)
	w.Complete("done")
	want = append(want, Log(t, h.Store, id)[8:]...)
	for after, stream := range open {
		got, err := collect(ctx, stream)
		require.NoError(t, err)
		require.Equal(t, want[after+1:], got)
	}
}

func damagedEnd(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	Claim(t, h.Store, id).Complete("done")
	want := Log(t, h.Store, id)
	last := want[len(want)-1].Sequence
	h.DamageEvent(id, last, true)
	want[last-1] = execution.Event{Sequence: last, Payload: &execution.UnreadableEvent{}}
	ctx := bounded(t)
	for after := range last {
		stream, err := h.Local().Follow(ctx, id, after)
		require.NoError(t, err)
		got, err := collect(ctx, stream)
		require.NoError(t, err)
		require.Equal(t, want[after:], got)
		require.NoError(t, stream.Close())
	}
}

func damagedToolCalls(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	w := Claim(t, h.Store, id)
	w.Plan("call_0_0", "call_0_1", "call_0_2") // 3, 4, 5
	w.Receive("call_0_0", `{"content":1}`, false)
	w.Receive("call_0_2", `{"content":1}`, false)
	w.Plan("call_1_0") // 8
	for n, timeToo := range map[execution.Sequence]bool{1: false, 4: true, 7: false} {
		h.DamageEvent(id, n, timeToo)
	}
	for _, limit := range []int{1, 2, 100} {
		var calls []execution.CallID
		var unread []execution.Sequence
		for after, more := execution.Sequence(0), true; more; {
			page, err := h.Local().ToolCalls(bounded(t), id, after, limit)
			require.NoError(t, err)
			for _, call := range page.ToolCalls {
				calls = append(calls, call.CallID)
				require.Equal(t, call.CallID == "call_0_0", call.DoneAtMs > 0, "what cannot be read does not say it")
			}
			for _, n := range page.Unreadable {
				require.Greater(t, n, after, "each is of one page")
				require.LessOrEqual(t, n, page.NextAfter)
			}
			unread = append(unread, page.Unreadable...)
			after, more = page.NextAfter, page.HasMore
		}
		require.Equal(t, []execution.CallID{"call_0_0", "call_0_2", "call_1_0"}, calls)
		require.Equal(t, []execution.Sequence{1, 4, 7}, unread)
	}
}
