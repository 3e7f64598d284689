package journaltest

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// below draws a number from 0 to n-1, each as likely as the other: rapid's own integers prefer the small ones.
func (d *differential) below(n int, label string) int {
	value := 0
	for i, bit := range rapid.SliceOfN(rapid.Bool(), 9, 9).Draw(d.t, label) {
		if bit {
			value += 1 << i
		}
	}
	return value % n
}

// one draws one of the given values.
func one[T any](d *differential, label string, values ...T) T {
	return values[d.below(len(values), label)]
}

// rarely is true one time in n.
func (d *differential) rarely(n int, label string) bool { return d.below(n, label) == n-1 }

func (d *differential) number() int {
	d.count++
	return d.count
}

func (d *differential) pick() *run {
	return d.runs[d.below(len(d.runs), "execution")]
}

// reserve submits an execution, or one again.
func (d *differential) reserve() {
	n := d.number()
	r := &run{id: testID(thePartition, n), conv: testConversation(thePartition, 1+d.below(3, "conversation"))}
	if len(d.runs) > 0 && d.rarely(6, "conversation of another") { // a child's, perhaps
		r.conv = d.pick().conv
	}
	request := execution.CreateRequest{
		Agent: "demo", OnBusy: one(
			d, "busy", execution.BusyEnqueue, execution.BusyEnqueue, execution.BusyReject, execution.BusyInterrupt,
			execution.BusyInterrupt, execution.BusyRollback, execution.BusyRollback,
		),
		Priority: one(d, "priority", execution.Priority(""), execution.High),
	}
	if d.rarely(5, "scheduled") {
		request.StartAtMs = d.clock.Ms() + one(d, "start", int64(-5), 1000, 60_000)
	}
	r.submitted = journal.NewExecution{
		ID: r.id, ConversationID: r.conv, Caller: caller(), Request: request, Fingerprint: one(d, "print", "f", "f", "g"),
		IdempotencyKey: one(d, "key", "", "", "k1", "k2"), Queue: one(d, "queue", "", "", "own"),
		Deadline: one(d, "deadline", 0, 0, time.Minute), Retention: one(d, "kept", 0, 0, time.Minute, time.Hour),
		Checkpoint: fmt.Append(nil, "c", n), Node: "run_start",
		Messages: [][]byte{fmt.Append(nil, "m", n)},
	}
	if d.rarely(10, "tenant") {
		r.submitted.Caller.Tenant = "another"
	}
	if len(d.runs) > 0 && d.rarely(4, "fork") {
		d.fork(r, n)
	}
	r.submitted.Delegated = d.rarely(8, "delegated")
	if d.rarely(4, "overrides") {
		r.submitted.Overrides = fmt.Append(nil, "o", n)
	}
	answer, err := d.ask("reserve", func(s journal.Store) (any, error) { return s.Reserve(bounded(d.t), r.submitted) })
	if err == nil && answer.(journal.Reservation).Created {
		d.runs = append(d.runs, r)
	}
}

// fork makes the submission a fork, mostly of as much as there is.
func (d *differential) fork(r *run, n int) {
	source := d.row(d.pick())
	fork := journal.Fork{
		From:   execution.Origin{ExecutionID: source.ID, Step: source.Step},
		Length: d.below(max(source.HistoryEnd, 1)+1, "length"), Whole: d.rarely(3, "whole"), Own: d.rarely(3, "own"),
		ReadsHistory: d.rarely(2, "reads"),
	}
	r.submitted.Fork, r.submitted.Node = &fork, d.node("run_start")
	if !d.rarely(8, "conversation that is there") {
		r.conv = testConversation(thePartition, 10+n)
	}
	if d.rarely(2, "silent") {
		r.submitted.Messages = nil
	}
	r.submitted.ConversationID = r.conv
}

// node is mostly the given one.
func (d *differential) node(name string) string {
	if d.rarely(3, "calls") {
		return one(d, "node", "model_response", "tool_call", "tool_return")
	}
	return name
}

// claim claims mostly the step at which the execution stands.
func (d *differential) claim(r *run) {
	q := journal.ClaimRequest{
		Execution: r.id, Worker: one(d, "worker", journal.WorkerID("w1"), "w2"), Nonce: fmt.Sprint("n", d.number()),
		TTL: ttl, MaxReclaims: one(d, "max", 0, 1, 2), KnownMessages: one(d, "known", 0, 0, 1, 99),
		History: d.rarely(4, "history asked for"),
	}
	if d.rarely(3, "step given") {
		step := d.row(r).Step
		if d.rarely(3, "another step") {
			step = execution.Step(d.below(4, "step"))
		}
		q.Step = &step
	}
	if d.rarely(8, "nonce again") && len(r.holds) > 0 {
		q.Nonce = nonceOf(r.holds[len(r.holds)-1].Fence)
	}
	answer, err := d.ask("claim", func(s journal.Store) (any, error) {
		claimed, err := s.Claim(bounded(d.t), q)
		return claimed, err
	})
	if err != nil {
		return
	}
	fence := answer.(journal.Claimed).Fence
	if len(r.holds) == 0 || r.holds[len(r.holds)-1].Fence != fence {
		r.holds = append(r.holds, journal.Hold{Execution: r.id, Fence: fence})
	}
}

// hold draws a hold: mostly the newest with the next number.
func (d *differential) hold(r *run) journal.Hold {
	if len(r.holds) == 0 || d.rarely(15, "made up") {
		return journal.Hold{Execution: r.id, Fence: "1-made", Operation: 1}
	}
	i := len(r.holds) - 1
	if d.rarely(10, "old fence") {
		i = d.below(i+1, "fence")
	}
	hold := &r.holds[i]
	if !d.rarely(12, "number again") {
		hold.Operation++
	}
	return *hold
}

// row is the execution as the first store has it.
func (d *differential) row(r *run) journal.Execution {
	row, err := d.a.Store.Get(bounded(d.t), r.id)
	if err != nil { // purged
		return journal.Execution{ID: r.id}
	}
	return row
}

func (d *differential) commit(r *run) {
	row := d.row(r)
	q := journal.Commit{
		Hold: d.hold(r), Step: row.Step, Node: d.node(fmt.Sprint("node", row.Step+1)), Checkpoint: fmt.Append(nil, "c", d.number()),
		Usage: execution.Usage{Requests: int64(d.count)}, ReadsHistory: d.rarely(2, "history"), Then: d.then(),
		Events: d.events(), Cleanup: d.toUndo(),
	}
	if d.rarely(2, "claim known") {
		q.ClaimedAtMs = d.clock.Ms() + 1000*int64(d.below(40, "claimed")-30)
	}
	if d.rarely(2, "kept") {
		q.Keep = 5 * time.Second
	}
	if d.rarely(12, "wrong step") {
		q.Step += one(d, "by", execution.Step(1), ^execution.Step(0))
	}
	for _, call := range calls() {
		if d.rarely(3, "batch") {
			q.Batch = append(q.Batch, call)
		}
	}
	last := d.boundary()
	q.Messages, q.Plan, q.Consumed = last.Messages, last.Plan, last.Consumed
	if d.rarely(3, "chain") {
		for range 1 + d.below(3, "earlier") {
			earlier := d.boundary()
			earlier.Checkpoint, earlier.Events = fmt.Append(nil, "c", d.number()), d.events()
			q.Earlier = append(q.Earlier, earlier)
		}
	}
	d.do("commit", func(s journal.Store) (any, error) { return s.Commit(bounded(d.t), q) })
}

// boundary draws what belongs to one step.
func (d *differential) boundary() (b journal.Boundary) {
	for range d.below(3, "messages") {
		b.Messages = append(b.Messages, fmt.Append(nil, "said", d.number()))
	}
	for _, call := range calls() {
		if d.rarely(3, "planned") {
			b.Plan = append(b.Plan, journal.Plan{CallID: call, Intent: fmt.Append(nil, "i", d.number())})
		}
	}
	for _, request := range []execution.RequestID{"r1", "r2"} {
		if d.rarely(2, "consumed") {
			b.Consumed = append(b.Consumed, request)
		}
	}
	if d.rarely(4, "consumed result") {
		b.Consumed = append(b.Consumed, execution.ChildRequest(one(d, "result", calls()...)))
	}
	return b
}

// then draws what follows a commit; some contradict themselves.
func (d *differential) then() journal.Then {
	i := d.interaction()
	return one(
		d, "then", goOn(), goOn(), goOn(), goOn(),
		journal.Then{Kind: journal.ThenPark, Interaction: &i}, journal.Then{Kind: journal.ThenPark, Interaction: &i},
		waitFor(10*time.Second), waitFor(0), d.awaits(), d.awaits(),
		journal.Then{Kind: journal.ThenPark, WaitKind: execution.WaitChild, Await: awaited(i.RequestID)},
		journal.Then{Kind: journal.ThenSuspend, Suspension: policy()},
		completeWith("done"), failWith("c"), journal.Then{Kind: journal.ThenEnd},
	)
}

func (d *differential) interaction() execution.Interaction {
	i := execution.Interaction{
		RequestID: one(d, "request", execution.RequestID("r1"), "r2"), Prompt: "why?",
		Kind:     one(d, "interaction", execution.Approval, execution.Authentication),
		OnExpiry: one(d, "expiry", "", execution.ExpireFail, execution.ExpireSuspend),
	}
	if d.rarely(2, "expires") {
		i.ExpiresAtMs = d.clock.Ms() + 20_000
	}
	return i
}

func (d *differential) events() []execution.Payload {
	var events []execution.Payload
	for range d.below(3, "events") {
		events = append(events, warning(fmt.Sprint("w", d.number())))
	}
	if d.rarely(25, "foreign event") {
		events = append(events, execution.ExecutionResumed{})
	}
	return events
}

func (d *differential) release(r *run) {
	q := journal.Release{Hold: d.hold(r)}
	one(d, "release", func(*journal.Release) {}, retryAfter(10*time.Second), retryAfter(0), suspendFor)(&q)
	if d.rarely(2, "unsent") {
		q.Unsent = calls()
	}
	if d.rarely(3, "usage") {
		q.Usage = &execution.Usage{OutputTokens: int64(d.number())}
	}
	d.do("release", func(s journal.Store) (any, error) { return s.Release(bounded(d.t), q) })
}

func (d *differential) record(r *run) {
	q := journal.Record{Hold: d.hold(r), State: one(d, "ledger", journal.Started, journal.Done), Events: d.events()}
	for _, call := range calls() {
		if d.rarely(2, "call") {
			q.Calls = append(q.Calls, call)
		}
	}
	if q.State == journal.Done {
		for _, call := range q.Calls {
			q.Receipts = append(q.Receipts, one(d, "receipt",
				fmt.Append(nil, "r", d.number()),
				fmt.Appendf(nil, `{"v":1,"result":{"callId":%q,"name":"x","content":%d}}`, call, d.number())))
		}
	}
	if d.rarely(3, "usage") {
		q.Usage = &execution.Usage{ToolCalls: int64(d.number())}
	}
	d.do("record", func(s journal.Store) (any, error) { return s.Record(bounded(d.t), q) })
}

func (d *differential) renew(r *run) {
	h := d.hold(r)
	duration := one(d, "ttl", ttl, ttl, time.Second, 0)
	d.do("renew", func(s journal.Store) (any, error) { return s.Renew(bounded(d.t), h, duration) })
}
