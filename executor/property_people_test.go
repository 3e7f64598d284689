package executor

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// people answer the questions of a simulated execution, in part if need be, as their draws say.
type people struct {
	draws []int
	next  int
	// allowed are the arguments with which a call may be sent, by call id.
	allowed map[execution.CallID]string
}

// draw is the next number below n.
func (p *people) draw(n int) int {
	if len(p.draws) == 0 {
		return 0
	}
	p.next++
	return p.draws[p.next%len(p.draws)] % n
}

// reply answers something of what is open.
func (p *people) reply(open *execution.Interaction) execution.Input {
	input := execution.Input{RequestID: open.RequestID}
	switch {
	case open.Kind == execution.Elicitation && p.draw(4) == 1:
		input.Type, input.Declined = execution.ElicitationResponse, true
	case open.Kind == execution.Elicitation:
		input.Type, input.Text = execution.ElicitationResponse, "yes"
	case open.Kind == execution.ClientToolResult:
		call := open.Calls[p.draw(len(open.Calls))]
		input.Type, input.CallID, input.Result = execution.ToolResultInput, call.CallID, json.RawMessage(`{"by":"client"}`)
		input.IsError = p.draw(3) == 0
	default:
		input.Type = execution.ToolApproval
		for i, call := range open.Calls {
			if p.draw(3) != 0 || i == len(open.Calls)-1 && input.Decisions == nil {
				input.Decisions = append(input.Decisions, p.decide(open.Reason, call))
			}
		}
	}
	return input
}

func (p *people) decide(reason string, call execution.InteractionCall) execution.Decision {
	decision := execution.Decision{CallID: call.CallID, Decision: execution.Answer, Answer: json.RawMessage(`"by hand"`)}
	choice := p.draw(4)
	switch {
	case choice == 0:
		decision.Decision, decision.Answer, decision.Reason = execution.Reject, nil, "no"
	case reason == execution.OutcomeUnknown || choice == 1: // what may have happened is not sent again by these people
	case choice == 2:
		decision.Decision, decision.Answer = execution.Approve, nil
		p.allowed[call.CallID] = string(call.Arguments)
	default:
		decision.Decision, decision.Answer = execution.Edit, nil
		decision.Arguments = json.RawMessage(fmt.Sprintf(`{"edited":%d}`, p.draw(100)))
		p.allowed[call.CallID] = string(decision.Arguments)
	}
	return decision
}

// gated is a call that people must have allowed, with these arguments.
func (o *outside) gated(name string) func(context.Context, local.Invocation) (local.Answer, error) {
	carryOut := o.call(name)
	return func(ctx context.Context, call local.Invocation) (local.Answer, error) {
		o.mu.Lock()
		if allowed := o.people.allowed[call.Call.CallID]; !o.life.over() && allowed != string(call.Call.Arguments) {
			o.problem = fmt.Sprintf("%s was sent with %s, allowed was %q", call.Call.CallID, call.Call.Arguments, allowed)
		}
		o.mu.Unlock()
		return carryOut(ctx, call)
	}
}

// late carries out a call whose result comes later.
func (o *outside) late(ctx context.Context, call local.Invocation) (local.Answer, error) {
	if _, err := o.call("late")(ctx, call); err != nil {
		return local.Answer{}, err
	}
	return asks(local.Question{Kind: execution.ClientToolResult, Prompt: "later"})(ctx, call)
}

// asker wants to know something before it carries a call out.
func (o *outside) asker(ctx context.Context, call local.Invocation) (local.Answer, error) {
	if call.Reply == nil {
		return asks(local.Question{
			Kind: execution.Elicitation, Prompt: "which?", Resume: true, State: json.RawMessage(`{"asked":1}`),
		})(ctx, call)
	}
	if string(call.Reply.State) != `{"asked":1}` || call.Reply.Declined == (call.Reply.Text == "yes") {
		o.mu.Lock()
		o.problem = fmt.Sprintf("the reply is another: %+v", call.Reply)
		o.mu.Unlock()
	}
	return o.call("asker")(ctx, call)
}

// ordered is a call that comes behind those before it in its batch.
func (o *outside) ordered(ctx context.Context, call local.Invocation) (local.Answer, error) {
	answer, err := o.call("ordered")(ctx, call)
	if err != nil || answer.Result == nil {
		return answer, err
	}
	var turn, index int
	if _, err := fmt.Sscanf(string(call.Call.CallID), "call_%d_%d", &turn, &index); err != nil {
		return answer, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if last, known := o.order[turn]; known && last >= index {
		o.problem = fmt.Sprintf("call %d of turn %d came behind call %d", index, turn, last)
	}
	o.order[turn] = index
	return answer, err
}

// askingTools are the tools that people have to do with.
func (o *outside) askingTools() []local.Tool {
	always := agent.Approval{Always: true}
	gated, gatedIdem := tool("gated", agent.Unsafe, o.gated("gated")), tool("gatedIdem", agent.Idempotent, o.gated("gatedIdem"))
	gated.spec.Approval, gatedIdem.spec.Approval = always, always
	ordered := tool("ordered", agent.Unsafe, o.ordered)
	ordered.spec.Sequential = true
	return []local.Tool{
		gated, gatedIdem, ordered, tool("late", agent.Unsafe, o.late), tool("asker", agent.Idempotent, o.asker),
		tool("human", agent.ReadOnly, asks(local.Question{Kind: execution.Elicitation, Prompt: "well?"})),
		tool("client", agent.ReadOnly, asks(local.Question{Kind: execution.ClientToolResult, Prompt: "please"})),
	}
}
