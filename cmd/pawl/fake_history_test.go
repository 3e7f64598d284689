package main

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/pawl-run/pawl/execution"
)

// note keeps what was called.
func (f *fakeRemote) note(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, fmt.Sprintf(format, args...))
}

// next takes the first of the answers that a fake was given.
func next[T any](answers *[]T) (answer T) {
	if len(*answers) > 0 {
		answer, *answers = (*answers)[0], (*answers)[1:]
	}
	return answer
}

func (f *fakeRemote) Messages(_ context.Context, _ execution.ID, from, limit int) (execution.MessagePage, error) {
	f.note("messages %d %d", from, limit)
	return next(&f.messages), f.err
}

func (f *fakeRemote) Checkpoints(
	_ context.Context, _ execution.ID, from execution.Step, limit int,
) (execution.CheckpointPage, error) {
	f.note("checkpoints %d %d", from, limit)
	return next(&f.checkpoints), f.err
}

func (f *fakeRemote) ToolCalls(
	_ context.Context, _ execution.ID, after execution.Sequence, limit int,
) (execution.ToolCallPage, error) {
	f.note("calls %d %d", after, limit)
	return next(&f.toolCalls), f.err
}

func (f *fakeRemote) Why(context.Context, execution.ID) (execution.Why, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.whys++
	return f.why, f.err
}

func (f *fakeRemote) Fork(
	_ context.Context, id execution.ID, key string, request execution.ForkRequest,
) (execution.Created, error) {
	text := ""
	if request.Input != nil {
		text = request.Input.Text
	}
	f.note("fork %s %q %d %q %q %q", id, key, request.Step, text, request.Model, request.Instructions)
	return execution.Created{View: f.view}, f.err
}

func (f *fakeRemote) Release(context.Context, execution.ID) (execution.Steered, error) {
	f.note("release")
	return f.steered, f.err
}

func (f *fakeRemote) Delete(_ context.Context, id execution.ID) error {
	f.note("delete %s", id)
	return f.deleteErrs[id]
}

func (f *fakeRemote) Bulk(_ context.Context, request execution.BulkRequest) (execution.BulkResult, error) {
	f.note("bulk %s %v dry=%v limit=%d cursor=%s", request.Action, request.Filter, request.DryRun, request.Limit, request.Cursor)
	return next(&f.bulk), f.err
}

func (f *fakeRemote) WatchAll(
	ctx context.Context, since time.Time, types ...string,
) iter.Seq2[execution.StreamItem, error] {
	f.note("events %d %v", since.Unix(), types)
	return func(yield func(execution.StreamItem, error) bool) {
		for {
			item, err := f.Next(ctx)
			if !yield(item, err) || err != nil {
				return
			}
		}
	}
}

func (f *fakeRemote) StreamToken(context.Context, execution.ID) (execution.StreamToken, error) {
	return execution.StreamToken{Token: "t?1", ExpiresAtMs: 5}, f.err
}

func (f *fakeRemote) Agents(context.Context) ([]execution.AgentSummary, error) {
	return f.agents, f.err
}
