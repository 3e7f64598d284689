package executor

import (
	"context"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"time"

	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/faultpoint"
	"github.com/pawl-run/pawl/journal"
)

// A holder is the environment of its node.

// Sure implements environment: a process that was stopped for a while must not go on where it was.
func (h *holder) Sure(ctx context.Context) error {
	if h.trust.ended() {
		h.end(ErrTrustEnded)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return h.ahead()
}

// Generate implements environment.
func (h *holder) Generate(ctx context.Context, model local.Model, request local.ModelRequest) (
	local.ModelResponse, error,
) {
	return generate(ctx, model, request, &answer{frames: h.frames, invocation: request.Opened})
}

// generate sends a model request; a panic of the model is a transient error.
func generate(ctx context.Context, model local.Model, request local.ModelRequest, sink local.Sink) (
	response local.ModelResponse, err error,
) {
	defer func() {
		if r := recover(); r != nil {
			err = &local.Error{Kind: local.Transient, Code: "panic", Message: fmt.Sprint(r)}
		}
	}()
	return model.Generate(ctx, request, sink)
}

// Call implements environment.
func (h *holder) Call(ctx context.Context, tool local.Tool, call local.Invocation) (local.Answer, error) {
	answer, err := tool.Call(ctx, call, h.frames)
	faultpoint.Hit("tool_sent")
	return answer, err
}

// Probe implements environment.
func (h *holder) Probe(ctx context.Context, prober local.Prober, call local.Invocation) (local.ProbeResult, error) {
	return prober.Probe(ctx, call)
}

// MarkStarted implements environment.
func (h *holder) MarkStarted(ctx context.Context, calls []execution.CallID) error {
	_, err := h.record(ctx, h.trust.until(), journal.Record{State: journal.Started, Calls: calls})
	if errors.Is(err, journal.ErrState) {
		h.end(ErrUserCancel) // a cancel is recorded
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	faultpoint.Hit("tool_started")
	return nil
}

// Receive implements environment.
func (h *holder) Receive(ctx context.Context, r receipt) (execution.ToolResult, error) {
	data, err := encodeReceipt(r.result)
	if err != nil {
		return execution.ToolResult{}, err
	}
	record := journal.Record{
		State: journal.Done, Calls: []execution.CallID{r.result.CallID}, Receipts: [][]byte{data},
		Events: []execution.Payload{r.event}, Usage: &r.usage,
	}
	if r.blob != nil {
		record.Blobs = []journal.Blob{*r.blob}
	}
	recorded, err := h.record(ctx, h.lastTry(), record)
	if err != nil {
		return execution.ToolResult{}, err
	}
	if len(recorded.Entries) != 1 {
		return r.result, nil
	}
	return decodeReceipt(recorded.Entries[0].Receipt)
}

func (h *holder) record(ctx context.Context, until time.Time, record journal.Record) (journal.Recorded, error) {
	if err := h.ahead(); err != nil {
		return journal.Recorded{}, err
	}
	record.Hold = h.hold()
	var recorded journal.Recorded
	err := repeat(context.WithoutCancel(ctx), until, func(ctx context.Context) (err error) {
		recorded, err = h.durable.cfg.Store.Record(ctx, record)
		return err
	})
	if err != nil {
		return recorded, fmt.Errorf("record %s %v of %s: %w", record.State, record.Calls, record.Execution, err)
	}
	h.wrote(recorded.Entries, len(record.Events))
	if recorded.CancelRequested {
		h.end(ErrUserCancel)
	}
	return recorded, nil
}

// Admit implements environment.
func (h *holder) Admit(ctx context.Context, lane string) (time.Duration, error) {
	return h.durable.lanes.admit(ctx, lane, lanePatience)
}

// Refused implements environment.
func (h *holder) Refused(lane string, err error) { h.durable.lanes.refused(lane, err) }

// NowMs implements environment.
func (h *holder) NowMs() int64 { return h.claimed.NowMs + time.Since(h.at).Milliseconds() }

// Jitter implements environment.
func (h *holder) Jitter(limit time.Duration) time.Duration { return jitter(limit) }

// jitter is a random duration above 0 and at most limit.
func jitter(limit time.Duration) time.Duration { return mathrand.N(limit) + 1 }
