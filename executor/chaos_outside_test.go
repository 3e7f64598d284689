package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// chaosOutside is what models, tools and people do. It outlives every worker. Guarded by the chaos' mu.
type chaosOutside struct {
	requests int                         // that models were asked
	effects  map[string]int              // by effect id
	inFlight map[string]int              // by effect id: calls that may have their effect yet
	again    map[execution.CallID]int    // how often people had a call of unknown outcome sent again
	allowed  map[execution.CallID]string // arguments with which people let a call be sent
}

func newChaosOutside() chaosOutside {
	return chaosOutside{
		effects: map[string]int{}, inFlight: map[string]int{}, again: map[execution.CallID]int{},
		allowed: map[execution.CallID]string{},
	}
}

var chaosTools = []string{"read", "idem", "unsafe", "unsafeTell", "unsafeFail", "probed", "gated", "gatedSoon", "ordered", "human"}

// definition is a random agent.
func (c *chaos) definition() *agent.Definition {
	r := c.r
	d := &agent.Definition{
		Name: "demo", OutputRetries: r.IntN(3), Model: agent.Model{Provider: "openai", Name: "one"},
		Results: agent.Results{Limit: 2048, Over: []agent.OverLimit{agent.OverRefuse, agent.OverTruncate, agent.OverStore}[r.IntN(3)]},
	}
	for range r.IntN(3) {
		d.Model.Fallback = append(d.Model.Fallback, agent.Model{Provider: "anthropic", Name: "other"})
	}
	if r.IntN(3) == 0 {
		d.OutputSchema = json.RawMessage(`{"type":"object","required":["a"]}`)
		if r.IntN(2) == 0 {
			d.Model.StructuredOutput = agent.StructuredTool
		}
	}
	limit := func(among int64) int64 {
		if r.IntN(12) != 0 {
			return 0
		}
		return 1 + r.Int64N(among)
	}
	d.Limits = execution.Limits{
		MaxTurns: limit(6), MaxModelRequests: limit(10), MaxToolCalls: limit(12), MaxTotalTokens: limit(200_000),
		Deadline: time.Duration(limit(100)) * time.Second, SuspendOnExceeded: r.IntN(3) == 0,
	}
	return d
}

// kit is that of one worker, whose calls have no effect once it is dead.
func (c *chaos) kit(l *life) *local.Kit {
	kit := &local.Kit{}
	model := fakeModel(func(ctx context.Context, r local.ModelRequest) (local.ModelResponse, error) {
		return c.model(ctx, l, r)
	})
	kit.Model, kit.Fallback = model, []local.Model{model, model}[:c.fallbacks()]
	recoveries := map[string]agent.Recovery{
		"read": agent.ReadOnly, "idem": agent.Idempotent, "probed": agent.Reconcile, "human": agent.ReadOnly, "gatedSoon": agent.Idempotent,
	}
	for _, name := range chaosTools {
		recovery, declared := recoveries[name]
		if !declared {
			recovery = agent.Unsafe
		}
		t := tool(name, recovery, func(ctx context.Context, call local.Invocation) (local.Answer, error) {
			return c.tool(ctx, l, recovery, call)
		})
		t.probe = c.probe
		t.spec.Timeout = 5 * time.Second
		t.spec.OnUnknown = map[string]agent.OnUnknown{"unsafeTell": agent.UnknownTellModel, "unsafeFail": agent.UnknownFail}[name]
		t.spec.Sequential = name == "ordered"
		t.spec.Parameters = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)
		t.spec.Approval.Always = strings.HasPrefix(name, "gated")
		if name == "gatedSoon" {
			t.spec.Approval.ExpiresAfter = 10 * time.Second
			t.spec.Approval.OnExpiry = []execution.OnExpiry{execution.ExpireReject, execution.ExpireFail, execution.ExpireSuspend}[c.seed/2%3]
		}
		kit.Tools = append(kit.Tools, t)
	}
	return kit
}

// fallbacks is how many models the definition names besides the first.
func (c *chaos) fallbacks() int {
	data, err := c.w.store.Definition(c.w.t.Context(), c.w.row().Definition)
	if err != nil {
		return 0
	}
	d, err := agent.Decode(data)
	if err != nil {
		return 0
	}
	return len(d.Model.Fallback)
}

// pause is a call under way: something else may happen meanwhile.
func (c *chaos) pause(ctx context.Context, r *rand.Rand) {
	c.mu.Lock()
	meddle := !c.over && c.meddles > 0 && r.IntN(4) == 0
	if meddle {
		c.meddles--
	}
	c.mu.Unlock()
	if meddle {
		c.command([]string{"pause", "release", "resume", "release", "release", "pause", "cancel"}[r.IntN(7)]) //nolint:contextcheck // whoever gives it does not wait for the call
	}
	took := time.Duration(r.IntN(300)) * time.Millisecond
	if !c.calm() && r.IntN(12) == 0 {
		took = c.long
	}
	if r.IntN(3) != 0 && !meddle {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(took):
	}
}

// model answers anything, but for what it must not.
func (c *chaos) model(ctx context.Context, l *life, request local.ModelRequest) (local.ModelResponse, error) {
	if l.over() {
		return local.ModelResponse{}, &local.Error{Kind: local.Transient, Code: "dead"}
	}
	c.mu.Lock()
	c.requests++
	c.mu.Unlock()
	if !slices.EqualFunc(repair(request.Messages), request.Messages, sameMessage) {
		c.wrong("a dangling call reached the model")
	}
	r := c.decide("model")
	c.pause(ctx, r)
	if ctx.Err() != nil {
		return local.ModelResponse{Usage: &execution.Usage{InputTokens: 3, Partial: true}}, ctx.Err()
	}
	if !c.calm() {
		if err := c.modelFails(r); err != nil {
			return local.ModelResponse{Usage: &execution.Usage{InputTokens: 3, Partial: true}}, err
		}
	}
	response := local.ModelResponse{FinishReason: "stop", Usage: c.counts(r)}
	turn := assistants(request.Messages)
	if !c.calm() && turn < 8 && r.IntN(7) != 0 {
		response.FinishReason = "tool_calls"
		for range 1 + r.IntN(5) {
			response.ToolCalls = append(response.ToolCalls, c.toolCall(r))
		}
		return response, nil
	}
	response.Text = []string{`{"a":1}`, `{"a":1}`, "not JSON", "", "\xff\xfe", strings.Repeat("long ", 5000)}[r.IntN(6)]
	if c.calm() {
		response.Text = `{"a":1}`
	}
	response.Provider = &execution.ProviderState{Name: "odd", Data: json.RawMessage(`{"thought":"…"}`)}
	return response, nil
}

func (c *chaos) modelFails(r *rand.Rand) error {
	n := r.IntN(14)
	if c.mood == refusesRequests {
		n = 0
	}
	switch n {
	case 0:
		return &local.Error{Kind: local.Transient, Code: "overloaded"}
	case 1:
		return &local.Error{Kind: local.Transient, Code: "rate_limited", RetryAfter: time.Duration(r.IntN(30)) * time.Second}
	case 2:
		return &local.Error{Kind: local.Permanent, Code: local.CodeMalformedResponse}
	case 3:
		panic("a model that panics")
	default:
		return nil
	}
}

func (c *chaos) counts(r *rand.Rand) *execution.Usage {
	return []*execution.Usage{
		nil, {InputTokens: 10, OutputTokens: 5, TotalTokens: 15}, {InputTokens: -7, OutputTokens: -1}, {InputTokens: 2, Partial: true},
	}[r.IntN(4)]
}

// toolCall is a call that a model asks for: of a tool or of none, with arguments or with anything.
func (c *chaos) toolCall(r *rand.Rand) execution.ToolCall {
	call := execution.ToolCall{
		Name: chaosTools[r.IntN(len(chaosTools))], ProviderID: "the same", Arguments: json.RawMessage(fmt.Sprintf(`{"n":%d}`, r.IntN(50))),
	}
	switch r.IntN(14) {
	case 0:
		call.Name = "no such tool"
	case 1:
		call.Arguments = json.RawMessage([]string{"", "[]", "{", "null", `{"n":"x"}`, "\xff", strings.Repeat("[", 2000)}[r.IntN(7)])
	case 2:
		call.Name = agent.FinalAnswer
	}
	return call
}

// tool does what a tool of the recovery class may do.
func (c *chaos) tool(ctx context.Context, l *life, recovery agent.Recovery, call local.Invocation) (local.Answer, error) {
	if l.over() {
		return local.Answer{}, &local.Error{Kind: local.Transient, Code: "dead"}
	}
	id := call.Call.CallID
	c.permitted(call)
	r := c.decide("tool " + string(id))
	odd := r.IntN(24)
	if c.calm() {
		odd = 23
	}
	if odd == 0 {
		return local.Answer{}, &local.Error{Kind: local.Transient, Code: "refused"}
	}
	if call.Call.Name == "human" && call.Reply == nil {
		return asks(local.Question{Kind: execution.Elicitation, Prompt: "well?", Resume: r.IntN(2) == 0, State: json.RawMessage(`1`)})(ctx, call)
	}
	c.begin(call.EffectID)
	c.pause(ctx, r)
	happens := !l.over() && (odd != 1 && odd != 2 || r.IntN(2) == 0)
	c.end(recovery, call, happens)
	switch {
	case ctx.Err() != nil:
		return local.Answer{}, ctx.Err()
	case odd == 1:
		return local.Answer{}, &local.Error{Kind: local.Unknown, Code: "lost"}
	case odd == 2:
		panic("a tool that panics")
	case odd == 3:
		return local.Answer{}, &local.Error{Kind: local.Permanent, Code: "no", Message: "no"}
	case odd == 4:
		return local.Answer{}, nil
	case odd == 5:
		return asks(local.Question{Kind: execution.ClientToolResult, Prompt: "later"})(ctx, call)
	}
	result := execution.TextResult(call.Call, "done")
	switch odd {
	case 6:
		result = execution.ErrorResult(call.Call, execution.ToolModelRetry, "again, please")
	case 7:
		result = execution.TextResult(call.Call, strings.Repeat("é", 3000))
	case 8:
		result.Content = json.RawMessage("\xff{")
	case 9:
		result.Content, result.IsError = nil, true
	}
	return local.Answer{Result: &result}, nil
}

// permitted looks whether the call may be sent.
func (c *chaos) permitted(call local.Invocation) {
	c.mu.Lock()
	allowed := c.allowed[call.Call.CallID]
	c.mu.Unlock()
	if call.EffectID != execution.EffectID(c.w.id, call.Call.CallID) {
		c.wrong("%s came with the effect id %s", call.Call.CallID, call.EffectID)
	}
	if strings.HasPrefix(call.Call.Name, "gated") && allowed != string(call.Call.Arguments) {
		c.wrong("%s was sent with %s, allowed was %q", call.Call.CallID, call.Call.Arguments, allowed)
	}
}

func (c *chaos) begin(effect string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inFlight[effect]++
}

// end is the moment of the effect, if it happens.
func (c *chaos) end(recovery agent.Recovery, call local.Invocation, happens bool) {
	c.mu.Lock()
	c.inFlight[call.EffectID]--
	if happens {
		c.effects[call.EffectID]++
	}
	times, most := c.effects[call.EffectID], 1+c.again[call.Call.CallID]
	c.mu.Unlock()
	if times > most && (recovery == agent.Unsafe || recovery == agent.Reconcile) {
		c.wrong("%s %s happened %d times", call.Call.Name, call.Call.CallID, times)
	}
}

func (c *chaos) probe(_ context.Context, call local.Invocation) (local.ProbeResult, error) {
	if !c.calm() && c.decide("probe").IntN(8) == 0 {
		return local.ProbeResult{}, &local.Error{Kind: local.Transient, Code: "away"}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.inFlight[call.EffectID] > 0:
		return local.ProbeResult{State: local.ProbePending}, nil
	case c.effects[call.EffectID] == 0:
		return local.ProbeResult{State: local.ProbeAbsent}, nil
	}
	result := execution.TextResult(call.Call, "done")
	return local.ProbeResult{State: local.ProbeDone, Result: &result}, nil
}

// reply is an answer to some of what is open.
func (c *chaos) reply(open *execution.Interaction) execution.Input {
	r, input := c.r, execution.Input{RequestID: open.RequestID}
	switch open.Kind {
	case execution.Elicitation, execution.Authentication:
		input.Type, input.Text, input.Declined = execution.ElicitationResponse, "yes", r.IntN(4) == 0
	case execution.ClientToolResult:
		call := open.Calls[r.IntN(len(open.Calls))]
		input.Type, input.CallID, input.Result = execution.ToolResultInput, call.CallID, json.RawMessage(`{"by":"client"}`)
		input.IsError = r.IntN(3) == 0
	case execution.Approval:
		input.Type = execution.ToolApproval
		for i, call := range open.Calls {
			if r.IntN(3) != 0 || i == len(open.Calls)-1 && input.Decisions == nil {
				input.Decisions = append(input.Decisions, c.decision(call))
			}
		}
	}
	return input
}

func (c *chaos) decision(call execution.InteractionCall) execution.Decision {
	d := execution.Decision{CallID: call.CallID}
	switch c.r.IntN(5) {
	case 0:
		d.Decision, d.Reason = execution.Reject, "no"
	case 1:
		d.Decision, d.Answer = execution.Answer, json.RawMessage(`"by hand"`)
	case 2:
		d.Decision, d.Arguments = execution.Edit, json.RawMessage(fmt.Sprintf(`{"n":%d}`, c.r.IntN(9)))
	case 3:
		d.Decision, d.Arguments = execution.Edit, json.RawMessage(`{"n":"what the tool does not take"}`)
	default:
		d.Decision = execution.Approve
	}
	return d
}

// allow notes what people have let be sent.
func (c *chaos) allow(open *execution.Interaction, input execution.Input) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range input.Decisions {
		for _, call := range open.Calls {
			switch {
			case call.CallID != d.CallID:
			case d.Decision == execution.Approve && open.Reason == execution.OutcomeUnknown:
				c.again[call.CallID]++
			case d.Decision == execution.Approve:
				c.allowed[call.CallID] = string(call.Arguments)
			case d.Decision == execution.Edit && open.Reason == "":
				c.allowed[call.CallID] = string(d.Arguments)
			}
		}
	}
}
