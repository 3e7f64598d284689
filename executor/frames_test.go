package executor

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

type sentFrames struct {
	mu     sync.Mutex
	frames []execution.Frame
	at     []time.Time
	err    error
}

func (s *sentFrames) PublishFrame(_ context.Context, _ execution.ID, frame execution.Frame) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frames, s.at = append(s.frames, frame), append(s.at, time.Now())
	return s.err
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
		require.LessOrEqual(t, len(sent.frames), 23)
		total := ""
		for _, frame := range sent.frames {
			require.Equal(t, execution.Step(4), frame.Step)
			if frame.Type == execution.FrameTextDelta {
				total += frame.Text
			}
		}
		require.Equal(t, strings.Repeat("x", 1000), total, "nothing is lost while the store answers")
		require.Equal(t, "half", sent.frames[len(sent.frames)-1].Text, "what is left goes out before the commit")
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
