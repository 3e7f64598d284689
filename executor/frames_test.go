package executor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

type sentFrames struct {
	mu     sync.Mutex
	frames []execution.Frame
	at     []time.Time
	err    error
	heard  int
}

func (s *sentFrames) PublishFrame(_ context.Context, _ execution.ID, frame execution.Frame) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frames, s.at = append(s.frames, frame), append(s.at, time.Now())
	return s.heard, s.err
}

func (s *sentFrames) set(heard int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard, s.err = heard, err
}

func TestFramesAreJoinedAndBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sent := &sentFrames{}
		f := newFrames(t.Context(), testID, 4, sent)
		for range 1000 {
			f.Frame(execution.Frame{Type: execution.FrameTextDelta, Text: "x"})
			<-time.After(time.Millisecond)
		}
		f.Frame(execution.Frame{Type: execution.FrameToolProgress, CallID: "call_0_0", Text: "half"})
		f.close()
		require.LessOrEqual(t, len(sent.frames), 22)
		require.Equal(t, "x", sent.frames[0].Text, "the first comes at once")
		for i := range len(sent.frames) - 2 { // the last is sent because the node ends
			require.GreaterOrEqual(t, sent.at[i+1].Sub(sent.at[i]), frameInterval)
		}
		total := ""
		for _, frame := range sent.frames {
			require.Equal(t, execution.Step(4), frame.Step)
			if frame.Type == execution.FrameTextDelta {
				total += frame.Text
			}
		}
		require.Equal(t, strings.Repeat("x", 1000), total, "nothing is lost while the store answers")
		require.NotEqual(t, execution.FrameToolProgress, sent.frames[len(sent.frames)-1].Type, "the call is over")
		f.Frame(execution.Frame{Text: "late"})
		f.close()
	})
}

func TestFramesAreDroppedOnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sent := &sentFrames{err: errors.New("down")}
		f := newFrames(t.Context(), testID, 4, sent)
		f.Frame(execution.Frame{Text: "x"})
		synctest.Wait()
		f.Frame(execution.Frame{Text: "y", Type: execution.FrameTextDelta})
		f.close()
		require.Len(t, sent.frames, 2)
		newFrames(t.Context(), testID, 4, sent).close()
	})
}

// Case F8: however much comes at once, a frame is small, and what cannot be sent in time is lost and not kept.
func TestCaseF8_FramesAreSmall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sent := &sentFrames{}
		f := newFrames(t.Context(), testID, 4, sent)
		text := strings.Repeat("größe", 20_000)
		f.Frame(execution.Frame{Type: execution.FrameTextDelta, Text: text})
		f.Frame(execution.Frame{Type: execution.FrameTextDelta, Text: "end"})
		f.close()
		total := ""
		for _, frame := range sent.frames {
			require.LessOrEqual(t, len(frame.Text), maxFrameText)
			require.True(t, utf8.ValidString(frame.Text))
			total += frame.Text
		}
		require.Equal(t, text+"end", total)
		require.LessOrEqual(t, len(sent.frames), len(text)/maxFrameText+2)

		f = newFrames(t.Context(), testID, 4, sent)
		for range 1000 {
			f.Frame(execution.Frame{Type: execution.FrameTextDelta, Text: text})
		}
		require.LessOrEqual(t, len(f.pending), maxPendingFrames)
		f.close()
	})
}

func TestAnAnswersFramesSayWhereTheyStand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sent := &sentFrames{}
		f := newFrames(t.Context(), testID, 4, sent)
		one := &answer{frames: f, invocation: "inv_4"}
		for range 500 {
			one.Frame(execution.Frame{Type: execution.FrameTextDelta, Text: strings.Repeat("größe ", 20)})
			one.Frame(execution.Frame{Type: execution.FrameToolProgress, CallID: "call_0_0", Text: "half"})
			<-time.After(time.Millisecond)
		}
		again := &answer{frames: f, invocation: "inv_4"} // the request is repeated: nothing is joined to what came before
		again.Frame(execution.Frame{Type: execution.FrameTextDelta, Text: "anew"})
		f.close()
		var text []rune
		for _, frame := range sent.frames {
			if frame.Type != execution.FrameTextDelta {
				require.Empty(t, frame.InvocationID)
				continue
			}
			require.Equal(t, "inv_4", frame.InvocationID)
			require.LessOrEqual(t, frame.Offset, len(text))
			text = append(text[:frame.Offset], []rune(frame.Text)...)
		}
		require.Equal(t, "anew", string(text))
		require.Equal(t, "anew", sent.frames[len(sent.frames)-1].Text)
	})
}

func TestALostFrameIsMadeUpFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sent := &sentFrames{err: errors.New("down")}
		f := newFrames(t.Context(), testID, 4, sent)
		a := &answer{frames: f, invocation: "inv_4"}
		a.Frame(execution.Frame{Type: execution.FrameTextDelta, Text: "lost "})
		synctest.Wait()
		sent.set(1, nil)
		a.Frame(execution.Frame{Type: execution.FrameTextDelta, Text: "and found"})
		f.close()
		last := sent.frames[len(sent.frames)-1]
		require.Equal(t, execution.Frame{
			Type: execution.FrameTextDelta, Step: 4, InvocationID: "inv_4", Text: "lost and found",
		}, last)
	})
}

func TestWhoeverListensLateGetsTheAnswerSoFar(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sent := &sentFrames{}
		f := newFrames(t.Context(), testID, 4, sent)
		a := &answer{frames: f, invocation: "inv_4"}
		say := func(n int) {
			for range n {
				a.Frame(execution.Frame{Type: execution.FrameTextDelta, Text: "größe "})
				<-time.After(10 * time.Millisecond)
			}
		}
		wholes := func() (n int) {
			sent.mu.Lock()
			defer sent.mu.Unlock()
			for _, frame := range sent.frames[1:] {
				if frame.Offset == 0 {
					n++
				}
			}
			return n
		}
		say(100)
		require.Zero(t, wholes(), "nobody listens")
		sent.set(1, nil)
		say(100)
		require.Equal(t, 1, wholes())
		for i := range 100 { // they come all the time
			sent.set(i+2, nil)
			say(1)
		}
		require.LessOrEqual(t, wholes(), 3, "once a second")
		sent.set(0, nil)
		say(200)
		f.close()
		var text []rune
		for _, frame := range sent.frames {
			require.LessOrEqual(t, frame.Offset, len(text))
			text = append(text[:frame.Offset], []rune(frame.Text)...)
		}
		require.Equal(t, strings.Repeat("größe ", 500), string(text))
	})
}

func TestAnAnswerThatIsLongIsNotSentAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sent := &sentFrames{}
		f := newFrames(t.Context(), testID, 4, sent)
		a := &answer{frames: f, invocation: "inv_4"}
		for i := range 60 {
			sent.set(i, nil)
			a.Frame(execution.Frame{Type: execution.FrameTextDelta, Text: strings.Repeat("x", maxFrameText)})
			<-time.After(frameInterval)
		}
		f.close()
		for _, frame := range sent.frames {
			require.LessOrEqual(t, len(frame.Text), maxWhole)
		}
		require.Nil(t, a.text)
		require.Less(t, len(sent.frames), 70)
	})
}

func TestProgressOfManyCallsIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sent := &sentFrames{}
		f := newFrames(t.Context(), testID, 4, sent)
		for i := range 3000 {
			f.Frame(execution.Frame{Type: execution.FrameToolProgress, CallID: execution.NewCallID(0, i%100), Text: "a line\n"})
			<-time.After(time.Millisecond)
		}
		f.close()
		require.LessOrEqual(t, len(sent.frames), 61, "twenty a second")
	})
}

// Case F8: what a stream sends never reaches the journal, whose bytes do not depend on how many deltas there were.
func TestCaseF8_DeltasLeaveTheJournalAlone(t *testing.T) {
	t.Parallel()
	stored := map[int]int{}
	for _, deltas := range []int{0, 1, 5000} {
		synctest.Test(t, func(t *testing.T) {
			kit := &local.Kit{Model: streaming(deltas)}
			w := newWorld(t, &agent.Definition{}, kit, nil)
			require.Equal(t, execution.Completed, w.drive().State)
			for key, value := range w.dump() {
				require.NotContains(t, value, "secret delta")
				stored[deltas] += len(key) + len(value)
			}
		})
	}
	require.Equal(t, stored[0], stored[1])
	require.Equal(t, stored[0], stored[5000])
}

func TestFramesNameTheAnswerThatTheyAreOf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &agent.Definition{}, &local.Kit{Model: streaming(300)}, nil)
		sub, err := w.store.Follow(t.Context(), w.id)
		require.NoError(t, err)
		defer func() { require.NoError(t, sub.Close()) }()
		require.Equal(t, execution.Completed, w.drive().State)
		events, err := w.store.Events(t.Context(), w.id, 0, 100)
		require.NoError(t, err)
		i := slices.IndexFunc(events, func(e execution.Event) bool {
			return e.Payload.EventType() == execution.TypeModelStarted
		})
		started := events[i].Payload.(*execution.ModelStarted)
		var text []rune
		for len(text) < 300*len("secret delta ") {
			signal := <-sub.Signals()
			if signal.Frame == nil {
				continue
			}
			require.Equal(t, started.InvocationID, signal.Frame.InvocationID)
			require.LessOrEqual(t, signal.Frame.Offset, len(text))
			text = append(text[:signal.Frame.Offset], []rune(signal.Frame.Text)...)
		}
		require.Equal(t, strings.Repeat("secret delta ", 300), string(text))
	})
}

// streaming is a model that answers after so many deltas, which take two seconds.
type streaming int

func (n streaming) Generate(_ context.Context, _ local.ModelRequest, sink local.Sink) (local.ModelResponse, error) {
	for i := range int(n) {
		sink.Frame(execution.Frame{Type: execution.FrameTextDelta, Text: "secret delta "})
		if i%100 == 0 {
			<-time.After(2 * time.Second / 50)
		}
	}
	if n < 100 {
		<-time.After(2 * time.Second)
	}
	return text("done"), nil
}

// A journal that is slow to take frames does not hold up the step.
func TestFramesThatASlowStoreHasNotTakenAreLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &frames{send: func(execution.Frame) (int, error) {
			<-time.After(frameTimeout - time.Millisecond)
			return 1, nil
		}}
		for i := range maxPendingFrames {
			f.Frame(execution.Frame{Type: execution.FrameTextDelta, CallID: execution.NewCallID(0, i), Text: "x"})
		}
		began := time.Now()
		f.close()
		require.LessOrEqual(t, time.Since(began), 4*frameTimeout)
	})
}
