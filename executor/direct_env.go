package executor

import (
	"context"
	"math"
	"time"

	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Sure implements environment.
func (r *directRun) Sure(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// Generate implements environment.
func (r *directRun) Generate(ctx context.Context, model local.Model, request local.ModelRequest) (
	local.ModelResponse, error,
) {
	return generate(ctx, model, request, r.direct.cfg.Sink)
}

// Call implements environment.
func (r *directRun) Call(ctx context.Context, tool local.Tool, call local.Invocation) (local.Answer, error) {
	return tool.Call(ctx, call, r.direct.cfg.Sink)
}

// Probe implements environment.
func (r *directRun) Probe(ctx context.Context, prober local.Prober, call local.Invocation) (local.ProbeResult, error) {
	return prober.Probe(ctx, call)
}

// MarkStarted implements environment: in one process there is no earlier holder to tell apart.
func (r *directRun) MarkStarted(context.Context, []execution.CallID) error { return nil }

// Receive implements environment.
func (r *directRun) Receive(_ context.Context, received receipt) (execution.ToolResult, error) {
	data, err := encodeReceipt(received.result)
	if err != nil {
		return execution.ToolResult{}, err
	}
	if blob := received.blob; blob != nil {
		if r.blobs == nil {
			r.blobs = map[string][]byte{}
		}
		r.blobs[blob.Hash] = blob.Content
	}
	entry := r.ledger[received.result.CallID]
	entry.State, entry.Receipt = journal.Done, data
	return received.result, nil
}

// Admit implements environment: nobody else would use the time.
func (r *directRun) Admit(ctx context.Context, lane string) (time.Duration, error) {
	return r.direct.lanes.admit(ctx, lane, math.MaxInt64)
}

// Refused implements environment.
func (r *directRun) Refused(lane string, err error) { r.direct.lanes.refused(lane, err) }

// NowMs implements environment.
func (r *directRun) NowMs() int64 { return time.Now().UnixMilli() }

// Jitter implements environment.
func (r *directRun) Jitter(limit time.Duration) time.Duration { return jitter(limit) }
