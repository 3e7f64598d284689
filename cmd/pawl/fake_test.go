package main

import (
	"bytes"
	"context"
	"io"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/execution"
)

const anID execution.ID = "exec_0701JDXR4N5Q8ZT7V2M3K4P5W6X7"

// fakeRemote is an API that plays a script: items come from a channel, the view is what was set last.
type fakeRemote struct {
	mu      sync.Mutex
	view    execution.View
	err     error // of every call but Follow
	created []execution.CreateRequest
	keys    []string
	inputs  []execution.SubmitInput
	steered execution.Steered
	resumed execution.ResumeRequest
	blob    []byte
	onInput func(execution.SubmitInput)
	pages   []execution.ListPage // to be given in turn
	listed  []execution.ListQuery

	items     chan received
	followErr error

	calls       []string // of the calls below, with what they were asked
	why         execution.Why
	whys        int // how often that was asked
	messages    []execution.MessagePage
	checkpoints []execution.CheckpointPage
	toolCalls   []execution.ToolCallPage
	bulk        []execution.BulkResult
	deleteErrs  map[execution.ID]error
	agents      []execution.AgentSummary
	views       map[execution.ID]execution.View // of others than the one
}

func newFake(view execution.View) *fakeRemote {
	view.ID = anID
	return &fakeRemote{view: view, items: make(chan received, 100)}
}

func (f *fakeRemote) dial() (remote, string, error) { return f, "http://127.0.0.1:8080", nil }

func (f *fakeRemote) Create(_ context.Context, key string, request execution.CreateRequest) (execution.Created, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.created, f.keys = append(f.created, request), append(f.keys, key)
	return execution.Created{View: f.view}, f.err
}

func (f *fakeRemote) Execution(_ context.Context, id execution.ID) (execution.View, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if view, other := f.views[id]; other {
		return view, nil
	}
	return f.view, f.err
}

func (f *fakeRemote) List(_ context.Context, query execution.ListQuery) (execution.ListPage, error) {
	f.listed = append(f.listed, query)
	if f.err != nil || len(f.pages) == 0 {
		return execution.ListPage{}, f.err
	}
	page := f.pages[0]
	f.pages = f.pages[1:]
	return page, nil
}

func (f *fakeRemote) Follow(context.Context, execution.ID, execution.Sequence) (execution.Stream, error) {
	if f.followErr != nil {
		return nil, f.followErr
	}
	return f, nil
}

func (f *fakeRemote) Next(ctx context.Context) (execution.StreamItem, error) {
	select {
	case got := <-f.items:
		return got.item, got.err
	case <-ctx.Done():
		return execution.StreamItem{}, ctx.Err()
	}
}

func (f *fakeRemote) Close() error { return nil }

func (f *fakeRemote) SubmitInput(_ context.Context, _ execution.ID, input execution.SubmitInput) (execution.View, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return execution.View{}, f.err
	}
	f.inputs = append(f.inputs, input)
	if f.onInput != nil {
		f.onInput(input)
	}
	return execution.View{ID: anID, State: execution.Running}, nil
}

func (f *fakeRemote) Cancel(context.Context, execution.ID) (execution.Steered, error) {
	return f.steered, f.err
}

func (f *fakeRemote) Pause(context.Context, execution.ID) (execution.Steered, error) {
	return f.steered, f.err
}

func (f *fakeRemote) Resume(
	_ context.Context, _ execution.ID, request execution.ResumeRequest,
) (execution.Steered, error) {
	f.resumed = request
	return f.steered, f.err
}

func (f *fakeRemote) Blob(context.Context, execution.ID, string) ([]byte, error) {
	return f.blob, f.err
}

// send puts events into the stream; the first has sequence 1, and each comes 100 ms after the one before.
func (f *fakeRemote) send(payloads ...execution.Payload) {
	for i, payload := range payloads {
		event := &execution.Event{Sequence: execution.Sequence(i + 1), OccurredAtMs: int64(1_000_000 + 100*i), Payload: payload}
		f.items <- received{item: execution.StreamItem{Event: event}}
	}
}

func (f *fakeRemote) frame(text string) {
	f.items <- received{item: execution.StreamItem{Frame: &execution.Frame{Type: execution.FrameTextDelta, Text: text}}}
}

func (f *fakeRemote) end() { f.items <- received{err: io.EOF} }

// result is what a command left behind.
type result struct {
	code     int
	out, err string
}

// typeCommand carries out a command line as if typed at a terminal or in a pipe.
func typeCommand(t *testing.T, f *fakeRemote, terminal bool, in io.Reader, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(t.Context(), args, streams{
		in: in, out: &out, err: &errs, inTerminal: terminal, outTerminal: terminal,
	}, f.dial)
	return result{code: code, out: out.String(), err: errs.String()}
}
