package executor

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// play is a batch that is played step by step, with its ledger.
type play struct {
	t      *testing.T
	s      situation
	env    *fakeEnv
	parked *execution.Interaction // the one that is open

	mu   sync.Mutex
	sent []local.Invocation // in order
}

// playOf begins a batch with one call of each tool. Tools without a function say what they were sent.
func playOf(t *testing.T, tools ...*fakeTool) *play {
	t.Helper()
	p := &play{t: t}
	for _, tool := range tools {
		answer := tool.call
		if answer == nil {
			answer = says("done")
		}
		tool.call = func(ctx context.Context, call local.Invocation) (local.Answer, error) {
			p.mu.Lock()
			p.sent = append(p.sent, call)
			p.mu.Unlock()
			return answer(ctx, call)
		}
	}
	p.s = inBatch(t, tools...)
	p.s.schemas = newSchemas()
	return p
}

// on plays on until the batch waits or ends; the reply, if any, is to what is open.
func (p *play) on(reply ...execution.Input) advance {
	p.t.Helper()
	p.s.inbox = nil
	for _, input := range reply {
		payload, err := json.Marshal(input)
		require.NoError(p.t, err)
		p.s.inbox = append(p.s.inbox, journal.InboxEntry{RequestID: p.parked.RequestID, Payload: payload})
	}
	for range 20 {
		a := p.step()
		if a.then.Kind == journal.ThenPark {
			p.parked = a.then.Interaction
			return a
		}
		if a.node != ToolCall && a.node != ToolReturn {
			return a
		}
		p.s.inbox = nil
	}
	p.t.Fatal("the batch goes round and round")
	return advance{}
}

// step does one step and takes it into the situation.
func (p *play) step() advance {
	p.t.Helper()
	now := int64(1000)
	if p.env != nil {
		now = p.env.now
	}
	p.env = &fakeEnv{now: now}
	a, err := newMachine(p.s, p.env).run(p.t.Context())
	require.NoError(p.t, err)
	require.Nil(p.t, a.back)
	p.take(a)
	return a
}

// take writes down what a step came to.
func (p *play) take(a advance) {
	p.t.Helper()
	for _, id := range p.env.marked {
		entry := p.entry(id)
		entry.State, entry.StartedFence = journal.Started, p.s.fence
	}
	for _, r := range p.env.receipts {
		entry := p.entry(r.result.CallID)
		require.NotEqual(p.t, journal.Done, entry.State, "one receipt per call")
		data, err := encodeReceipt(r.result)
		require.NoError(p.t, err)
		entry.State, entry.Receipt = journal.Done, data
	}
	for _, plan := range a.plan {
		*p.entry(plan.CallID) = journal.LedgerEntry{CallID: plan.CallID, State: journal.Planned, Intent: plan.Intent}
	}
	data, err := json.Marshal(a.state)
	require.NoError(p.t, err)
	p.s.step, p.s.node, p.s.state = p.s.step+1, a.node, RunState{}
	require.NoError(p.t, json.Unmarshal(data, &p.s.state), "the state survives in its checkpoint")
}

func (p *play) entry(id execution.CallID) *journal.LedgerEntry {
	at := slices.IndexFunc(p.s.ledger, func(e journal.LedgerEntry) bool { return e.CallID == id })
	require.GreaterOrEqual(p.t, at, 0)
	return &p.s.ledger[at]
}

// names are the tools that were called, in order.
func (p *play) names() []string {
	names := []string{}
	for _, call := range p.sent {
		names = append(names, call.Call.Name)
	}
	return names
}

// decide is a reply to the open approval.
func (p *play) decide(decisions ...execution.Decision) execution.Input {
	return decide(p.parked.RequestID, decisions...)
}

func approving(name string, recovery agent.Recovery) *fakeTool {
	f := tool(name, recovery, nil)
	f.spec.Approval = agent.Approval{Always: true}
	return f
}

// contents are the results of a batch that has ended, in its order.
func contents(a advance) []string {
	out := make([]string, len(a.messages))
	for i, message := range a.messages {
		out[i] = string(message.ToolResult.Content)
	}
	return out
}

func TestApprovalsOfABatchAreOneQuestionAndNothingOfThemIsSentBefore(t *testing.T) {
	t.Parallel()
	p := playOf(t, approving("pay", agent.Unsafe), tool("look", agent.ReadOnly, nil), approving("send", agent.Idempotent))
	a := p.on()
	require.Equal(t, []string{"look"}, p.names(), "the other calls run meanwhile")
	require.Empty(t, p.env.marked)
	require.Equal(t, execution.Approval, p.parked.Kind)
	require.Empty(t, p.parked.Reason)
	require.Len(t, p.parked.Calls, 2)
	require.Equal(t, argumentsHash([]byte(`{"a":1}`)), p.parked.Calls[0].ArgumentsHash)
	require.Equal(t, "May these calls be made: pay, send? Each may be approved, edited, answered or rejected.", p.parked.Prompt)
	evidence := NewEvidence(a.node, a.state)
	require.Equal(t, 2, evidence.PendingApprovalCount)
	require.Zero(t, evidence.DeferredToolCount)

	a = p.on(p.decide(
		execution.Decision{CallID: "call_0_0", Decision: execution.Approve},
		execution.Decision{CallID: "call_0_2", Decision: execution.Approve}))
	require.Equal(t, PrepareModelRequest, a.node)
	require.ElementsMatch(t, []string{"look", "pay", "send"}, p.names())
	require.Equal(t, []string{`"done"`, `"done"`, `"done"`}, contents(a))
}

// Case E3: one of two parallel calls is rejected; its sibling and it have results.
func TestCaseE3_SiblingsOfARejectedCallStillGetResults(t *testing.T) {
	t.Parallel()
	p := playOf(t, approving("pay", agent.Unsafe), approving("send", agent.Unsafe), approving("post", agent.Unsafe))
	p.on()
	a := p.on(p.decide(
		execution.Decision{CallID: "call_0_0", Decision: execution.Reject, Reason: "too expensive"},
		execution.Decision{CallID: "call_0_1", Decision: execution.Approve},
		execution.Decision{CallID: "call_0_2", Decision: execution.Answer, Answer: json.RawMessage(`{"posted":7}`)}))
	require.Equal(t, []string{"send"}, p.names())
	require.Equal(t, []string{`"too expensive"`, `"done"`, `{"posted":7}`}, contents(a))
	require.Equal(t, execution.ToolRejected, a.messages[0].ToolResult.ErrorKind)
	require.Zero(t, a.state.ToolRetriesUsed["pay"], "a rejection costs the model nothing")
}

func TestConditionsDecideWhoIsAsked(t *testing.T) {
	t.Parallel()
	for when, asked := range map[string]bool{
		`arguments.a > 1`: false, `arguments.a >= 1`: true, `arguments.missing > 1`: true, // nobody knows: ask
		`arguments.a`: true, `this is no expression`: true, // refused when files are read; here it must not let a call pass
	} {
		f := tool("pay", agent.Unsafe, nil)
		f.spec.Approval = agent.Approval{When: when, ExpiresAfter: time.Minute, OnExpiry: execution.ExpireFail}
		p := playOf(t, f)
		a := p.on()
		require.Equal(t, asked, a.then.Kind == journal.ThenPark, when)
		require.Equal(t, asked, len(p.sent) == 0, when)
		if asked {
			require.Equal(t, int64(61_000), p.parked.ExpiresAtMs)
			require.Equal(t, execution.ExpireFail, p.parked.OnExpiry)
			require.Contains(t, p.parked.Prompt, "May pay be called?")
		}
	}
}

func TestCallsThatWouldNotRunAreNotAskedAbout(t *testing.T) {
	t.Parallel()
	strict := approving("pay", agent.Unsafe)
	strict.spec.Parameters = json.RawMessage(`{"type":"object","required":["amount"]}`)
	p := playOf(t, strict)
	a := p.on()
	require.Equal(t, PrepareModelRequest, a.node)
	require.Equal(t, execution.ToolInvalidArguments, a.messages[0].ToolResult.ErrorKind)
}

// Case B5: a call that was approved and caught by a crash has an unknown outcome like any other; it is not approved anew,
// and it is not sent again by itself.
func TestCaseB5_ApprovedCallFollowsItsRecoveryClassAfterACrash(t *testing.T) {
	t.Parallel()
	for recovery, sent := range map[agent.Recovery]int{agent.Unsafe: 0, agent.Idempotent: 1, agent.ReadOnly: 1} {
		p := playOf(t, approving("restore", recovery))
		p.on()
		p.s.inbox = []journal.InboxEntry{inboxOf(t, p.parked.RequestID, p.decide(
			execution.Decision{CallID: "call_0_0", Decision: execution.Approve}))}
		require.Equal(t, ToolCall, p.step().node)
		p.s.inbox = nil
		if recovery == agent.Unsafe { // it was marked and sent, and its worker died
			entry := p.entry("call_0_0")
			entry.State, entry.StartedFence = journal.Started, "1-dead"
		}
		a := p.on()
		require.Len(t, p.sent, sent, recovery)
		if recovery != agent.Unsafe {
			require.Equal(t, PrepareModelRequest, a.node)
			continue
		}
		require.Equal(t, execution.OutcomeUnknown, p.parked.Reason)
		a = p.on(p.decide(execution.Decision{CallID: "call_0_0", Decision: execution.Approve}))
		require.Equal(t, PrepareModelRequest, a.node, "approved once more, and not asked about for its approval's sake")
		require.Equal(t, string(testID)+":call_0_0", p.sent[0].EffectID)
	}
}

func inboxOf(t *testing.T, request execution.RequestID, input execution.Input) journal.InboxEntry {
	t.Helper()
	payload, err := json.Marshal(input)
	require.NoError(t, err)
	return journal.InboxEntry{RequestID: request, Payload: payload}
}

func TestApprovalIsBoundToTheArguments(t *testing.T) {
	t.Parallel()
	p := playOf(t, approving("pay", agent.Unsafe))
	p.s.state.Batch.Calls[0].Approved = argumentsHash([]byte(`{"a":2}`))
	p.on()
	require.Empty(t, p.sent, "what was approved is another call")
	p.s.state.Batch.Calls[0].Approved = argumentsHash([]byte(`{"a":1}`))
	p.s.state.Batch.Calls[0].run(nil)
	p.s.node = ToolCall
	p.on()
	require.Len(t, p.sent, 1)
}

func TestEditedCallRunsWithAPersonsArguments(t *testing.T) {
	t.Parallel()
	strict := approving("pay", agent.Unsafe)
	strict.spec.Parameters = json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer","maximum":9}}}`)
	p := playOf(t, strict)
	p.on()
	first := p.parked
	edit := func(arguments string) execution.Input {
		return p.decide(execution.Decision{CallID: "call_0_0", Decision: execution.Edit, Arguments: json.RawMessage(arguments)})
	}
	a := p.on(edit(`{"a":10}`))
	require.Equal(t, journal.ThenPark, a.then.Kind, "a person's mistake is no result")
	require.NotEqual(t, first.RequestID, p.parked.RequestID)
	require.Contains(t, p.parked.Prompt, "The arguments given for pay are not valid")
	require.JSONEq(t, `{"a":1}`, string(p.parked.Calls[0].Arguments))

	a = p.on(edit(`{"a": 5, "why": "<b>"}`))
	require.Equal(t, PrepareModelRequest, a.node)
	require.Len(t, p.sent, 1)
	require.JSONEq(t, `{"a":5,"why":"<b>"}`, string(p.sent[0].Call.Arguments))
	require.Equal(t, string(testID)+":call_0_0", p.sent[0].EffectID)
	result := a.messages[0]
	require.JSONEq(t, `{"a":5,"why":"<b>"}`, string(result.ToolResult.Arguments))

	asked := execution.Message{Role: execution.RoleAssistant, ToolCalls: []execution.ToolCall{callOf(0, "pay")}}
	told := transcript([]execution.Message{{Role: execution.RoleUser, Text: "pay"}, asked, result})
	require.JSONEq(t, `{"a":5,"why":"<b>"}`, string(told[1].ToolCalls[0].Arguments), "the model reads what was done")
	require.JSONEq(t, `{"a":1}`, string(asked.ToolCalls[0].Arguments), "the history stays")
}

func TestPartialDecisionsRunAndTheRestIsAskedAgainInItsTime(t *testing.T) {
	t.Parallel()
	pay, send := approving("pay", agent.Unsafe), approving("send", agent.Unsafe)
	pay.spec.Approval = agent.Approval{Always: true, ExpiresAfter: time.Minute, OnExpiry: execution.ExpireReject}
	p := playOf(t, pay, send)
	p.on()
	first := *p.parked
	require.Equal(t, int64(61_000), first.ExpiresAtMs, "the first of them bounds the question")
	p.env.now = 31_000
	p.on(p.decide(execution.Decision{CallID: "call_0_1", Decision: execution.Approve}))
	require.Equal(t, []string{"send"}, p.names())
	require.NotEqual(t, first.RequestID, p.parked.RequestID)
	require.Len(t, p.parked.Calls, 1)
	require.Equal(t, int64(61_000), p.parked.ExpiresAtMs, "its time does not begin anew")
	p.env.now = 61_000
	a := p.on(execution.Input{Type: inputExpired, RequestID: p.parked.RequestID})
	require.Equal(t, PrepareModelRequest, a.node)
	require.Equal(t, []string{`"nobody answered in time"`, `"done"`}, contents(a))
}

func TestExpiryEndsOnlyTheQuestionsWhoseTimeIsUp(t *testing.T) {
	t.Parallel()
	pay, send := approving("pay", agent.Unsafe), approving("send", agent.Unsafe)
	pay.spec.Approval = agent.Approval{Always: true, ExpiresAfter: time.Minute, OnExpiry: execution.ExpireReject}
	p := playOf(t, pay, send)
	p.on()
	p.on(execution.Input{Type: inputExpired, RequestID: p.parked.RequestID})
	require.Equal(t, []execution.CallID{"call_0_1"}, p.s.state.Batch.Asked.Calls)
	require.Zero(t, p.parked.ExpiresAtMs)
	a := p.on(p.decide(execution.Decision{CallID: "call_0_1", Decision: execution.Approve}))
	require.Equal(t, []string{`"nobody answered in time"`, `"done"`}, contents(a))
}

func TestResultsOfTheClientComeOneByOne(t *testing.T) {
	t.Parallel()
	owed := func(name string) *fakeTool {
		return tool(name, agent.ReadOnly, asks(local.Question{Kind: execution.ClientToolResult, Prompt: name}))
	}
	p := playOf(t, owed("scroll"), tool("look", agent.ReadOnly, nil), owed("click"))
	a := p.on()
	require.Equal(t, execution.ClientToolResult, p.parked.Kind)
	require.Len(t, p.parked.Calls, 2, "one interaction for all of them")
	require.Equal(t, 2, NewEvidence(a.node, a.state).DeferredToolCount)
	require.Zero(t, NewEvidence(a.node, a.state).PendingApprovalCount)
	result := func(call execution.CallID, content string, failed bool) execution.Input {
		return execution.Input{
			Type: execution.ToolResultInput, RequestID: p.parked.RequestID, CallID: call, Result: json.RawMessage(content), IsError: failed,
		}
	}
	a = p.on(result("call_0_2", `{"x":1}`, false))
	require.Equal(t, []execution.CallID{"call_0_0"}, a.state.Batch.Asked.Calls)
	require.Equal(t, 1, NewEvidence(a.node, a.state).DeferredToolCount)
	a = p.on(result("call_0_0", `"no such page"`, true))
	require.Equal(t, []string{`"no such page"`, `"done"`, `{"x":1}`}, contents(a))
	require.Equal(t, execution.ToolExecution, a.messages[0].ToolResult.ErrorKind)
	require.Equal(t, []string{"click", "look", "scroll"}, sorted(p.names()), "nothing is asked for twice")
}

func sorted(names []string) []string {
	slices.Sort(names)
	return names
}

func TestToolThatAskedGetsTheAnswerBack(t *testing.T) {
	t.Parallel()
	question := local.Question{
		Kind: execution.Elicitation, Prompt: "Which?", Schema: json.RawMessage(`{"type":"object"}`), Resume: true,
		State: json.RawMessage(`{"round":1}`),
	}
	f := tool("book", agent.Unsafe, nil)
	f.call = func(ctx context.Context, call local.Invocation) (local.Answer, error) {
		switch {
		case call.Reply == nil:
			return asks(question)(ctx, call)
		case string(call.Reply.State) == `{"round":1}`:
			again := question
			again.State, again.Prompt = json.RawMessage(`{"round":2}`), "And which?"
			return asks(again)(ctx, call)
		default:
			return says(string(call.Reply.Content))(ctx, call)
		}
	}
	p := playOf(t, f)
	p.on()
	require.JSONEq(t, `{"type":"object"}`, string(p.parked.Schema))
	answer := func(content string, declined bool) execution.Input {
		return execution.Input{
			Type: execution.ElicitationResponse, RequestID: p.parked.RequestID, Content: json.RawMessage(content), Declined: declined,
		}
	}
	p.on(answer(`{"n":1}`, false))
	require.Equal(t, "And which?", p.parked.Prompt)
	require.Equal(t, "1", string(p.sent[1].Reply.Content[5]))
	a := p.on(answer(`{"n":2}`, false))
	require.Equal(t, []string{`"{\"n\":2}"`}, contents(a))
	require.Len(t, p.sent, 3)
	require.Equal(t, p.sent[0].EffectID, p.sent[2].EffectID)
	require.Equal(t, []execution.CallID{"call_0_0"}, markedAt(p), "each send is marked anew")
}

// markedAt are the marks of the play's ledger that are this claim's.
func markedAt(p *play) []execution.CallID {
	var ids []execution.CallID
	for _, entry := range p.s.ledger {
		if entry.StartedFence == p.s.fence {
			ids = append(ids, entry.CallID)
		}
	}
	return ids
}

func TestRefusalToAnswer(t *testing.T) {
	t.Parallel()
	p := playOf(t, tool("confirm", agent.ReadOnly, asks(local.Question{Kind: execution.Elicitation, Prompt: "?"})))
	p.on()
	a := p.on(execution.Input{Type: execution.ElicitationResponse, Declined: true})
	require.Equal(t, execution.ToolRejected, a.messages[0].ToolResult.ErrorKind)
}

func TestResultThatComesLateResolvesAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	s, a := parked(t)
	next := reply(t, s, a, execution.Input{
		Type: execution.ToolResultInput, CallID: "call_0_1", Result: json.RawMessage(`{"sent":true}`),
	})
	require.Equal(t, []execution.CallID{"call_0_0"}, next.state.Batch.Asked.Calls, "the other one is asked about still")
	require.Equal(t, CallReturned, next.state.Batch.Calls[1].Status)
}

func TestApprovedCallOfUnknownOutcomeBringsItsAnswerAgain(t *testing.T) {
	t.Parallel()
	book := tool("book", agent.Unsafe, nil)
	book.call = func(ctx context.Context, call local.Invocation) (local.Answer, error) {
		if call.Reply == nil {
			return asks(local.Question{Kind: execution.Elicitation, Prompt: "?", Resume: true, State: json.RawMessage(`1`)})(ctx, call)
		}
		return says("booked for "+call.Reply.Text)(ctx, call)
	}
	p := playOf(t, book)
	p.on()
	p.s.inbox = []journal.InboxEntry{inboxOf(t, p.parked.RequestID, execution.Input{Type: execution.ElicitationResponse, Text: "Ann"})}
	require.Equal(t, ToolCall, p.step().node)
	p.s.inbox = nil
	entry := p.entry("call_0_0")
	entry.State, entry.StartedFence = journal.Started, "1-dead" // it was sent with the answer, and its worker died
	p.on()
	require.Equal(t, execution.OutcomeUnknown, p.parked.Reason)
	a := p.on(p.decide(execution.Decision{CallID: "call_0_0", Decision: execution.Approve}))
	require.Equal(t, []string{`"booked for Ann"`}, contents(a))
}
