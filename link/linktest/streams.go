package linktest

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/link"
)

// piece is a piece of a model's answer.
func piece(offset int, text string) execution.Frame {
	return execution.Frame{Type: execution.FrameTextDelta, Step: 3, InvocationID: "inv_3", Offset: offset, Text: text}
}

func publish(t *testing.T, h Harness, id execution.ID, frames ...execution.Frame) {
	t.Helper()
	for _, frame := range frames {
		require.NoError(t, sent(h.Store.PublishFrame(bounded(t), id, frame)))
	}
}

// followFrom opens a stream that closes with the test.
func followFrom(t *testing.T, l link.RuntimeLink, id execution.ID, after execution.Sequence) *reader {
	t.Helper()
	stream, err := l.Follow(context.WithoutCancel(bounded(t)), id, after)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stream.Close()) })
	return &reader{Stream: stream}
}

// nextItem is what a stream gives next.
func nextItem(t *testing.T, stream execution.Stream) execution.StreamItem {
	t.Helper()
	item, err := stream.Next(bounded(t))
	require.NoError(t, err)
	return item
}

// reader is a stream and the text of the answer that it has told, put together as a client does it.
type reader struct {
	execution.Stream
	text []rune
}

// reads reads frames until the text is the wanted one.
func (r *reader) reads(t *testing.T, want string) {
	t.Helper()
	for string(r.text) != want {
		frame := nextItem(t, r).Frame
		require.NotNil(t, frame)
		require.LessOrEqual(t, frame.Offset, len(r.text), "a gap")
		r.text = append(r.text[:frame.Offset], []rune(frame.Text)...)
	}
}

func followTogether(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	w := Claim(t, h.Store, id)
	streams := []*reader{
		followFrom(t, h.Local(), id, 0), followFrom(t, h.Local(), id, 1), followFrom(t, h.Local(), id, 2),
	}
	w.Warnings(3)
	w.Complete("done")
	want := Log(t, h.Store, id)
	for after, stream := range streams {
		got, err := collect(bounded(t), stream)
		require.NoError(t, err)
		require.Equal(t, want[after:], got)
	}
}

func followInMidAnswer(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	w := Claim(t, h.Store, id)
	w.Commit(journal.Then{Kind: journal.ThenContinue}, &execution.ModelStarted{InvocationID: "inv_3"})
	early := followFrom(t, h.Local(), id, 3)
	publish(t, h, id, piece(0, "Grö"), piece(3, "ße "))
	early.reads(t, "Größe ")
	late := followFrom(t, h.Local(), id, 3)
	publish(t, h, id, piece(6, "42"))
	early.reads(t, "Größe 42")
	late.reads(t, "Größe 42")
}

func followRepeatedText(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	w := Claim(t, h.Store, id)
	stream := followFrom(t, h.Local(), id, 2)
	publish(t, h, id, piece(6, "41"))
	require.Equal(t, 6, nextItem(t, stream).Frame.Offset, "a gap that shows")
	publish(t, h, id, piece(0, "Größe 41, "))
	stream.reads(t, "Größe 41, ")
	publish(t, h, id, piece(0, "Größe 41, "), piece(0, "Größe 41, 42"))
	require.Equal(t, piece(10, "42"), *nextItem(t, stream).Frame, "what it has is no news")
	w.Complete("done")
	item := nextItem(t, stream)
	require.NotNil(t, item.Event)
}

func followAgainInMidAnswer(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	Claim(t, h.Store, id)
	stream, err := h.Local().Follow(bounded(t), id, 2)
	require.NoError(t, err)
	publish(t, h, id, piece(0, "So far"))
	(&reader{Stream: stream}).reads(t, "So far")
	require.NoError(t, stream.Close())
	followFrom(t, h.Local(), id, 2).reads(t, "So far")
}

func followInMidAnswerFromTheStart(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	w := Claim(t, h.Store, id)
	w.Commit(journal.Then{Kind: journal.ThenContinue}, &execution.ModelStarted{InvocationID: "inv_3"})
	early := followFrom(t, h.Local(), id, 3)
	publish(t, h, id, piece(0, "Grö"))
	early.reads(t, "Grö")
	late := followFrom(t, h.Local(), id, 0)
	for sequence := range 3 {
		require.EqualValues(t, sequence+1, nextItem(t, late).Event.Sequence, "the log comes first")
	}
	late.reads(t, "Grö")
}

func followAfterAnswer(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	w := Claim(t, h.Store, id)
	early := followFrom(t, h.Local(), id, 2)
	publish(t, h, id, piece(0, "over"))
	early.reads(t, "over")
	w.Commit(journal.Then{Kind: journal.ThenContinue}, &execution.ModelCompleted{InvocationID: "inv_3", FinishReason: "stop"})
	require.EqualValues(t, 3, nextItem(t, early).Event.Sequence)
	late := followFrom(t, h.Local(), id, 2)
	publish(t, h, id, piece(4, "late"))
	w.Complete("done")
	for _, stream := range []*reader{early, late} {
		for {
			item, err := stream.Next(bounded(t))
			if err != nil {
				break
			}
			require.Nil(t, item.Frame, "of an answer that the log says is over")
		}
	}
}

func followRepeatedAnswer(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	Claim(t, h.Store, id)
	early := followFrom(t, h.Local(), id, 2)
	publish(t, h, id, piece(0, "first try"), piece(0, "second"), piece(6, " try"))
	early.reads(t, "second try")
	followFrom(t, h.Local(), id, 2).reads(t, "second try")
}

func followLongAnswer(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	Claim(t, h.Store, id)
	early := followFrom(t, h.Local(), id, 2)
	text := strings.Repeat("größe ", 2000)
	length := len([]rune(text))
	for i := range 40 { // more than is kept for those who join
		publish(t, h, id, piece(i*length, text))
		require.Equal(t, i*length, nextItem(t, early).Frame.Offset)
	}
	late := nextItem(t, followFrom(t, h.Local(), id, 2)).Frame
	require.Positive(t, late.Offset)
	require.Less(t, len(late.Text), 512<<10)
	require.Equal(t, 40*length, late.Offset+len([]rune(late.Text)), "it ends where the answer does")
	require.True(t, strings.HasSuffix(text, string([]rune(late.Text)[len([]rune(late.Text))-6:])))
}

// followAllFor is a stream of all executions that the caller may see; its subscription is in force.
func followAllFor(t *testing.T, h Harness, caller execution.CallerScope, role execution.CallerRole) execution.Stream {
	t.Helper()
	stream, err := h.As(execution.Authority{Caller: caller, Role: role}).FollowAll(context.WithoutCancel(bounded(t)))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stream.Close()) })
	return stream
}

// tells reads a stream of all executions until it has told what is wanted; it must tell nothing else.
func tells(t *testing.T, stream execution.Stream, want map[execution.ID][]execution.Event) {
	t.Helper()
	got := map[execution.ID][]execution.Event{}
	for !reflect.DeepEqual(got, want) {
		item := nextItem(t, stream)
		require.NotNil(t, item.Event)
		require.Contains(t, want, item.Execution)
		got[item.Execution] = append(got[item.Execution], *item.Event)
		require.LessOrEqual(t, len(got[item.Execution]), len(want[item.Execution]))
	}
}

func followAllOfTheCaller(t *testing.T, h Harness) {
	scope := func(tenant, subject string) execution.CallerScope {
		return execution.CallerScope{Tenant: tenant, Subject: subject}
	}
	submitAs := func(caller execution.CallerScope) execution.ID {
		return submit(t, h.As(execution.Authority{Caller: caller, Role: execution.SubmitRole}))
	}
	ann, bob, cyd := scope("acme", "ann"), scope("acme", "bob"), scope("other", "cyd")
	before := submitAs(ann)
	own := followAllFor(t, h, ann, execution.SubmitRole)
	tenant := followAllFor(t, h, scope("acme", "eve"), execution.ReadRole)
	all := followAllFor(t, h, scope(execution.AllTenants, "eve"), execution.OperateRole)
	ids := []execution.ID{before, submitAs(ann), submitAs(bob), submitAs(cyd), submitAs(ann)}
	for _, id := range ids {
		w := Claim(t, h.Store, id)
		w.Warnings(2)
		w.Complete("done")
	}
	of := func(ids ...execution.ID) map[execution.ID][]execution.Event {
		want := map[execution.ID][]execution.Event{}
		for _, id := range ids {
			want[id] = Log(t, h.Store, id)
			if id == before {
				want[id] = want[id][1:] // from now on
			}
		}
		return want
	}
	tells(t, own, of(ids[0], ids[1], ids[4]))
	tells(t, tenant, of(ids[0], ids[1], ids[2], ids[4]))
	tells(t, all, of(ids...))
}

func followAllFrames(t *testing.T, h Harness) {
	id, other := submit(t, h.Local()), submit(t, h.As(execution.Authority{
		Caller: execution.CallerScope{Tenant: "acme", Subject: "ann"}, Role: execution.SubmitRole,
	}))
	stream := followAllFor(t, h, execution.LocalCaller(), execution.OperateRole)
	publish(t, h, other, piece(0, "secret"))
	publish(t, h, id, piece(4, "one"), piece(7, "two"))
	for _, want := range []execution.Frame{piece(4, "one"), piece(7, "two")} {
		require.Equal(t, execution.StreamItem{Execution: id, Frame: &want}, nextItem(t, stream))
	}
}

func followAllRefusals(t *testing.T, h Harness) {
	_, err := h.As(execution.Authority{Caller: execution.LocalCaller()}).FollowAll(bounded(t))
	require.ErrorIs(t, err, execution.ErrForbidden)
}

// sent is the error of a frame's sending.
func sent(_ int, err error) error { return err }
