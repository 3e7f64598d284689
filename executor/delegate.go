package executor

import (
	"context"
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// DefaultMaxDepth is how deep agents may call each other when the configuration does not say.
const DefaultMaxDepth = 5

// spawner is an environment in which an execution can have children: then durable agents are executions of their own.
type spawner interface {
	// Spawn starts the execution that carries a call out. It is there once, however often it is asked for; the answer is the
	// limits that it was started with. journal.ErrLimit: the execution has too many children. It may outlive ctx.
	Spawn(ctx context.Context, child childRun) (execution.Limits, error)
}

// childRun is an execution to be started for a call.
type childRun struct {
	call       execution.CallID
	definition *agent.Definition
	prompt     string
	limits     execution.Limits
	depth      int
}

// Child is the execution that carries a call out. Its id follows from the caller's and the call's.
type Child struct {
	// Limits are those that it was started with: until its result is there, so much of the caller's is spoken for.
	Limits execution.Limits `json:"limits,omitzero"`
}

// delegate starts the durable agents among the calls, and gives the ephemeral ones what they may use. Calls that cannot be
// carried out get their result. Everything that is left of the limits is divided among the calls of the batch, so the
// durable ones come first and in order: what is started once keeps its share, whoever does the rest.
func (m *machine) delegate(ctx context.Context, calls ...*pending) error {
	var inside []*pending
	for _, p := range calls {
		if p.spec.Delegate == nil || p.settled() {
			continue
		}
		run, err := m.delegateRun(ctx, p)
		if err != nil {
			return err
		}
		env, durable := m.env.(spawner)
		switch {
		case p.result != nil:
		case durable && p.spec.Delegate.Mode == agent.Durable:
			if err := m.spawn(ctx, env, p, run); err != nil {
				return err
			}
		default:
			p.grant = &local.Grant{Definition: run.definition, Depth: run.depth, Find: m.find}
			inside = append(inside, p)
		}
	}
	for _, p := range inside {
		if p.grant.Limits = m.share(p, p.grant.Definition); p.result == nil {
			m.grants[p.entry.CallID] = p.grant.Limits
		}
	}
	return nil
}

// delegateRun checks that the call can be carried out. Else it has its result.
func (m *machine) delegateRun(ctx context.Context, p *pending) (run childRun, err error) {
	call, name := p.entry.intent.Call, p.spec.Delegate.Agent
	run = childRun{call: call.CallID, depth: m.state.Depth + 1}
	if run.prompt, err = local.Prompt(call.Arguments); err != nil {
		m.refuseDelegate(p, execution.ToolInvalidArguments, err.Error())
		return run, nil
	}
	if run.depth > m.maxDepth {
		m.refuseDelegate(p, execution.ToolExecution, fmt.Sprintf(
			"the agent %s was not started: agents call each other at most %d deep", name, m.maxDepth))
		return run, nil
	}
	if m.find == nil {
		err = local.ErrNoAgent
	} else {
		run.definition, err = m.find(ctx, name)
	}
	if errors.Is(err, local.ErrNoAgent) {
		m.refuseDelegate(p, execution.ToolNotFound, "there is no agent "+name)
		return run, nil
	}
	return run, err
}

// spawn starts the execution of a durable agent, or finds it.
func (m *machine) spawn(ctx context.Context, env spawner, p *pending, run childRun) error {
	if run.limits = m.share(p, run.definition); p.result != nil {
		return nil
	}
	if err := m.env.Sure(ctx); err != nil {
		return err
	}
	limits, err := env.Spawn(ctx, run)
	switch {
	case errors.Is(err, journal.ErrLimit):
		m.refuseDelegate(p, execution.ToolExecution, fmt.Sprintf(
			"the agent %s was not started: an execution starts at most %d of them", p.spec.Delegate.Agent, journal.MaxChildren))
		return nil
	case errors.Is(err, journal.ErrOverloaded):
		p.transient = &local.Error{Kind: local.Transient, Code: "overloaded", Message: "the store takes no more executions now", Err: err}
		return nil
	case err != nil:
		return err
	}
	p.child = &Child{Limits: limits}
	m.grants[p.entry.CallID] = limits
	return nil
}

// refuseDelegate answers a call of an agent that is not run.
func (m *machine) refuseDelegate(p *pending, kind execution.ToolErrorKind, text string) {
	p.answer(execution.ErrorResult(p.entry.intent.Call, kind, text))
	p.mark = false
	m.grants[p.entry.CallID] = execution.Limits{}
}

// settled reports whether nothing is to be sent of the call in this step.
func (p *pending) settled() bool {
	return p.result != nil || p.question != nil || p.unknown || p.transient != nil || p.child != nil
}

// delegated notes that an execution carries the call out.
func (c *BatchCall) delegated(child *Child) {
	c.Status, c.Child, c.Question, c.Reply = CallDelegated, child, nil, nil
}

// parkForChildren waits for the executions that carry calls of the batch out, all of them.
func (m *machine) parkForChildren(open []execution.CallID) advance {
	m.state.Status = StatusWaiting
	a := m.next(ToolReturn)
	a.then = journal.Then{Kind: journal.ThenPark, WaitKind: execution.WaitChild}
	for _, call := range open {
		a.then.Await = append(a.then.Await, execution.ChildRequest(call))
	}
	return a
}
