package a2a_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	sdk "github.com/a2aproject/a2a-go/a2a"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/httpapi/a2a"
	"github.com/pawl-run/pawl/link"
	"github.com/pawl-run/pawl/link/linktest"
)

// reads is what a face asks its runtime for.
type reads struct {
	a2a.Runtime
	events, messages atomic.Int64

	mu       sync.Mutex
	followed []execution.Sequence // guarded by mu: behind which streams began
}

type readingLink struct {
	link.RuntimeLink
	reads *reads
}

func (r *reads) As(authority execution.Authority) link.RuntimeLink {
	return readingLink{r.Runtime.As(authority), r}
}

func (l readingLink) Events(ctx context.Context, id execution.ID, after execution.Sequence, limit int) (execution.EventPage, error) {
	l.reads.events.Add(1)
	return l.RuntimeLink.Events(ctx, id, after, limit)
}

func (l readingLink) Messages(ctx context.Context, id execution.ID, from, limit int) (execution.MessagePage, error) {
	l.reads.messages.Add(1)
	return l.RuntimeLink.Messages(ctx, id, from, limit)
}

func (l readingLink) Follow(ctx context.Context, id execution.ID, after execution.Sequence) (execution.Stream, error) {
	l.reads.mu.Lock()
	l.reads.followed = append(l.reads.followed, after)
	l.reads.mu.Unlock()
	return l.RuntimeLink.Follow(ctx, id, after)
}

func (r *reads) streams() []execution.Sequence {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]execution.Sequence{}, r.followed...)
}

// reading makes a face whose reads are counted.
func reading(counted *reads) func(*a2a.Config) {
	return func(c *a2a.Config) {
		counted.Runtime = c.Link
		c.Link = counted
	}
}

// A task with a long log is subscribed to, answered and told of without reading that log.
func TestALongLogIsNotRead(t *testing.T) {
	t.Parallel()
	store, counted := memory(t), &reads{}
	p, r := serve(t, store, change{face: reading(counted), tell: true}), receive(t)
	c := p.client("demo")
	task := send(t, c, message("m1", "hello"))
	w := p.worker(task)
	w.Warnings(2500)
	stream := resubscribe(t, c, task.ID)
	require.Greater(t, stream.task().Metadata["pawl.sequence"], float64(2500))
	_, err := c.SetTaskPushConfig(bounded(t), &sdk.TaskPushConfig{TaskID: task.ID, Config: sdk.PushConfig{URL: r.URL}})
	require.NoError(t, err)
	w.Ask(linktest.Elicitation("r1"))
	r.hears(t, sdk.TaskStateInputRequired)
	stream.status(sdk.TaskStateInputRequired)
	send(t, c, to(task, message("m2", "yes")))
	send(t, c, to(task, message("m2", "yes"))) // again
	require.Zero(t, counted.events.Load())
	for _, after := range counted.streams() {
		require.Greater(t, after, execution.Sequence(2500), "a stream begins where the log ends")
	}
	require.Len(t, counted.streams(), 2)
}

func TestTheHistoryIsTheNewestOfWhatWasSaid(t *testing.T) {
	t.Parallel()
	p := serve(t, memory(t), change{})
	c := p.client("demo")
	task := send(t, c, message("m1", "hello"))
	w := p.worker(task)
	const tool = `{"role":"tool","toolResult":{"callId":"c","name":"lookup","content":1}}`
	for i := range 300 {
		w.Say(fmt.Sprintf(`{"role":"assistant","text":"%d"}`, i), tool)
	}
	for asked, want := range map[int]int{0: 0, 1: 1, 50: 50, 299: 299, 1000: 301} {
		got, err := c.GetTask(bounded(t), &sdk.TaskQueryParams{ID: task.ID, HistoryLength: &asked})
		require.NoError(t, err)
		require.Len(t, got.History, want)
		for i, m := range got.History {
			if n := 300 - want + i; n >= 0 {
				require.Equal(t, fmt.Sprint(n), text(m))
			} else {
				require.Equal(t, "hello", text(m))
			}
		}
	}
	require.Len(t, get(t, c, task).History, 100)
}

// Large messages come in pages of fewer: none is left out between two that come.
func TestAHistoryOfLargeMessagesHasNoHole(t *testing.T) {
	t.Parallel()
	p := serve(t, memory(t), change{})
	c := p.client("demo")
	task := send(t, c, message("m1", "hello"))
	w := p.worker(task)
	for i := range 24 {
		w.Say(fmt.Sprintf(`{"role":"assistant","text":"%d %s"}`, i, strings.Repeat("x", 250<<10)))
	}
	got := get(t, c, task).History
	require.Len(t, got, 17, "4 MiB, and the message that goes beyond")
	for i, m := range got {
		require.True(t, strings.HasPrefix(text(m), fmt.Sprintf("%d ", 24-len(got)+i)))
	}
}

// A conversation of very many calls of tools is not searched for what somebody has said before them.
func TestAHistoryCostsNoMoreInALongConversation(t *testing.T) {
	t.Parallel()
	counted := &reads{}
	p := serve(t, memory(t), change{face: reading(counted)})
	c := p.client("demo")
	task := send(t, c, message("m1", "hello"))
	w := p.worker(task)
	results := make([]string, 500)
	for i := range results {
		results[i] = `{"role":"tool","toolResult":{"callId":"c","name":"lookup","content":1}}`
	}
	looked := func() int64 {
		before := counted.messages.Load()
		get(t, c, task)
		return counted.messages.Load() - before
	}
	for range 5 {
		w.Say(results...)
	}
	w.Say(`{"role":"assistant","text":"here"}`)
	history := get(t, c, task).History
	require.Len(t, history, 1, "what was said before is too far back")
	require.Equal(t, "here", text(history[0]))
	first := looked()
	for range 10 {
		w.Say(results...)
	}
	require.Equal(t, first, looked(), "three times as long")
}
