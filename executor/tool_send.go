package executor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// errToolTimeout is the cause with which a call's context ends at its tool's timeout.
var errToolTimeout = errors.New("the tool's timeout has passed")

// carryOut brings one call to an end, unless ctx ends first.
func (m *machine) carryOut(ctx context.Context, p *pending) {
	if p.settled() {
		return
	}
	defer func() {
		if r := recover(); r != nil { // a tool's panic is that call's failure; what it did before is unknown
			m.callFailed(ctx, p, &local.Error{Kind: local.Unknown, Code: "panic", Message: fmt.Sprint(r)})
		}
	}()
	callCtx, cancel := ctx, context.CancelFunc(func() {})
	if p.spec.Timeout > 0 {
		callCtx, cancel = context.WithTimeoutCause(ctx, p.spec.Timeout, errToolTimeout)
	}
	defer cancel()
	if !m.credential(callCtx, p) || p.probe && !m.probed(callCtx, p) {
		return
	}
	if m.env.Sure(callCtx) != nil {
		if ctx.Err() == nil { // its own time is over: else it would be tried at once, and for ever
			p.transient = &local.Error{Kind: local.Transient, Code: "tool_timeout", Message: errToolTimeout.Error()}
		}
		return // interrupted before it was sent
	}
	p.sent = true
	answer, err := m.env.Call(callCtx, p.tool, m.callOf(p))
	p.spent = answer.Usage.Delegated()
	switch {
	case err != nil:
		m.callFailed(callCtx, p, err)
	case answer.Result != nil:
		p.answer(*answer.Result)
	case answer.Question != nil:
		p.question = asked(answer.Question)
	default:
		p.answer(execution.ErrorResult(p.entry.intent.Call, execution.ToolExecution, "the tool gave no answer"))
	}
}

func (m *machine) callOf(p *pending) local.Invocation {
	call := local.Invocation{Execution: m.id, EffectID: p.entry.intent.EffectID, Call: p.entry.intent.Call, Grant: p.grant, Credential: p.credential}
	if p.spec.Delegated {
		call.Bearer = m.bearer
	}
	if p.reply != nil {
		call.Reply = &local.Reply{
			State: p.reply.State, Text: p.reply.Text, Content: p.reply.Content, Declined: p.reply.Declined,
		}
	}
	return call
}

// probed asks what became of a call of an earlier claim. It returns true when the call never happened and may be sent:
// its mark stays, so that whoever comes next asks again.
func (m *machine) probed(ctx context.Context, p *pending) bool {
	prober, ok := p.tool.(local.Prober)
	if !ok {
		p.unknown = true // a reconcile tool without a probe: nobody can tell
		return false
	}
	found, err := m.env.Probe(ctx, prober, m.callOf(p))
	switch {
	case err != nil && ctx.Err() != nil && !errors.Is(context.Cause(ctx), errToolTimeout):
	case err != nil:
		p.transient = &local.Error{
			Kind: local.Transient, Code: "probe_failed", Message: "the tool's status probe failed", RetryAfter: wish(err), Err: err,
		}
	case found.State == local.ProbeDone && found.Result != nil:
		p.answer(*found.Result)
	case found.State == local.ProbeAbsent:
		return true
	default:
		p.transient = &local.Error{Kind: local.Transient, Code: "outcome_pending", Message: "the call is still under way"}
	}
	return false
}

// callFailed tells apart what may be sent again, what certainly failed, and what may have happened.
func (m *machine) callFailed(ctx context.Context, p *pending, err error) {
	kind := local.KindOf(err)
	var classified *local.Error
	if !errors.As(err, &classified) {
		timedOut := errors.Is(context.Cause(ctx), errToolTimeout)
		if ctx.Err() != nil && !timedOut {
			return // interrupted: the cause decides
		}
		if timedOut {
			kind = local.Unknown
			err = &local.Error{Kind: kind, Code: "tool_timeout", Message: errToolTimeout.Error(), Err: err}
		}
	} else if ctx.Err() != nil && kind != local.Permanent && !errors.Is(context.Cause(ctx), errToolTimeout) {
		if kind == local.Transient {
			p.sent = false // nothing has happened: its mark is taken back
		}
		return // a broken request is what an interruption looks like
	}
	unsafe := p.spec.Recovery != agent.ReadOnly && p.spec.Recovery != agent.Idempotent && p.spec.Recovery != agent.Reconcile
	switch {
	case kind == local.Transient, kind == local.Unknown && !unsafe:
		p.transient = err
	case kind == local.Unknown:
		p.unknown = true
	default:
		p.answer(execution.ErrorResult(p.entry.intent.Call, execution.ToolExecution, err.Error()))
	}
}

// unsent lists the calls whose started mark of this claim may be taken back: they certainly had no effect.
func unsent(calls []*pending) []execution.CallID {
	var ids []execution.CallID
	for _, p := range calls {
		refused := p.transient != nil && local.KindOf(p.transient) == local.Transient
		if p.marked && p.result == nil && (refused || !p.sent) {
			ids = append(ids, p.entry.CallID)
		}
	}
	return ids
}

func wish(err error) (after time.Duration) {
	var classified *local.Error
	if errors.As(err, &classified) {
		return classified.RetryAfter
	}
	return 0
}
