package backend

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
)

// ending is how a call of a root run ended, before it is kept.
type ending struct {
	result   RunResult
	answer   string
	messages []Message
	err      error // of the backend
	aborted  bool
}

// failed ends the run. late is the state that came with the error: newer than what is stored.
func (r *rootRun) failed(ctx context.Context, err error, late *PersistedState) ending {
	message := ErrorMessage(err)
	if late == nil {
		late = r.latestState(ctx)
	}
	return ending{err: err, messages: r.Request.Messages, result: RunResult{
		Status: FailedStatus(message), Termination: TerminationReason{Kind: TermError, Detail: message}, State: late,
	}}
}

// canceled ends the run. late is the state that the backend returned when its context ended: newer than what is stored.
func (r *rootRun) canceled(ctx context.Context, late *PersistedState) ending {
	state := late
	if state == nil {
		state = r.latestState(ctx)
	}
	aborted := false
	if r.backend.Capabilities().Cancellation.SupportsRemoteAbort() {
		aborted = r.abort(ctx, state)
	}
	return ending{aborted: aborted, messages: r.Request.Messages, result: RunResult{
		Status: CanceledStatus(), Termination: TerminationReason{Kind: TermCanceled}, State: state,
	}}
}

// abort tells the remote, and reports whether it took it. It is best effort: the run is canceled in any case.
func (r *rootRun) abort(ctx context.Context, state *PersistedState) bool {
	ctx, done := last(ctx, r.cfg.AbortTimeout)
	defer done()
	err := r.backend.Abort(ctx, AbortRequest{
		AgentID: r.Request.Identity.AgentID, Identity: r.Request.Identity, State: state.Clone(),
		IsContinuation: r.Request.IsContinuation,
	})
	if err != nil {
		r.cfg.Logger.WarnContext(ctx, "a canceled run could not be aborted at its remote", "agentId", r.Request.AgentID,
			"runId", r.Request.Identity.RunID, "error", err)
	}
	return err == nil
}

func (r *rootRun) succeeded(ctx context.Context, result RunResult) ending {
	end := ending{result: result, messages: r.Request.Messages}
	if answer := result.Output.TextOr(result.Response); answer != nil {
		end.answer = *answer
	}
	if result.Output.Text == nil && end.answer != "" {
		end.result.Output.Text = &end.answer
	}
	if result.State == nil {
		end.result.State = r.PreviousState
	}
	if end.answer != "" {
		r.emit(ctx, TextDelta{Delta: end.answer})
		end.messages = append(slices.Clone(end.messages), AssistantMessage(end.answer))
	}
	if result.Termination.Kind == NaturalEnd || result.Termination.Kind == BehaviorRequested {
		r.emit(ctx, InferenceComplete{
			Model: r.Agent.ModelID, DurationMs: max(0, r.cfg.Now().Sub(r.startedAt).Milliseconds()),
		})
	}
	return end
}

// latestState is the state of the newest checkpoint, else the one the run began with. A store that does not answer is
// no reason to lose the end of a run.
func (r *rootRun) latestState(ctx context.Context) *PersistedState {
	if r.Request.Checkpoints == nil {
		return r.PreviousState
	}
	ctx, done := last(ctx, r.cfg.KeepTimeout)
	defer done()
	run, err := r.Request.Checkpoints.LoadRun(ctx, r.Request.Identity.RunID)
	if err != nil && !errors.Is(err, ErrRunNotFound) {
		r.cfg.Logger.WarnContext(ctx, "the latest state of a run could not be read", "runId", r.Request.Identity.RunID,
			"error", err)
	}
	if err != nil || run == nil || run.State == nil {
		return r.PreviousState
	}
	return run.State
}

// finish makes of an ending what is to be kept, and the events that follow.
func (r *rootRun) finish(end ending) (Led, error) {
	result := end.result
	result.AgentID = r.Request.Identity.AgentID
	if result.StatusReason == nil {
		if reason := result.Status.DurableStatusReason(result.Termination); reason != "" {
			result.StatusReason = &reason
		}
	}
	result.State = result.State.withOutput(result.Output)
	led := Led{Messages: end.messages, RootRunResult: RootRunResult{
		RunResult: result, Durable: result.Status.DurableRunStatus(result.Termination), Answer: end.answer, Err: end.err,
		Aborted: end.aborted,
	}}
	led.Parked = led.Durable == DurableWaiting && result.StatusReason != nil && *result.StatusReason == AwaitingTasks
	wire, err := resultJSON(result, end.answer)
	if err != nil {
		return Led{}, err
	}
	if !led.Parked {
		identity := r.Request.Identity
		led.Last = []Event{StepEnd{}, RunFinish{
			ConversationID: identity.ConversationID, RunID: identity.RunID, Identity: identity, Result: wire,
			Termination: result.Termination,
		}}
	}
	return led, nil
}

// resultJSON is the result of the last event. An output that is no JSON becomes null: the answer is there all the same.
func resultJSON(result RunResult, answer string) (json.RawMessage, error) {
	var output json.RawMessage
	if !result.Output.IsZero() {
		encoded, err := json.Marshal(result.Output)
		if err != nil {
			encoded = json.RawMessage("null")
		}
		output = encoded
	}
	return json.Marshal(struct {
		Response     string          `json:"response"`
		Status       string          `json:"status"`
		Output       json.RawMessage `json:"output,omitempty"`
		StatusReason *string         `json:"statusReason,omitempty"`
	}{answer, result.Status.ResultStatusLabel(result.Termination), output, result.StatusReason})
}
