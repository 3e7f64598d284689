package memjournal

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// The three indexes.
const (
	indexDue     = "due"
	indexHandoff = "handoff"
	indexPurge   = "purge"
)

// row is an execution and everything that belongs to it alone.
type row struct {
	journal.Execution

	fingerprint string
	deadline    time.Duration
	retention   time.Duration       // 0: the store's
	messages    [][]byte            // its first ones, until its turn comes
	inherited   int                 // so many of them others had said
	rollback    bool                // its turn takes back what the active execution has said
	entered     bool                // its turn has come
	view        *view               // its history after it was rolled back
	lent        []map[string][]byte // the large values of those that it was forked from

	events       []storedEvent
	told         execution.Sequence // the last event that followers were told of
	checkpoints  []journal.StoredCheckpoint
	ledger       map[execution.CallID]*journal.LedgerEntry
	batch        []execution.CallID // that the newest checkpoint names
	readsHistory bool
	inbox        map[execution.RequestID][]byte
	blobs        map[string][]byte // by hash

	counter    uint64 // of fences
	reclaimed  bool   // the current claim was taken after another one had run out
	lastCall   lastCall
	carried    carried
	lastCommit lastCommit

	index      string // the one index that holds its entry
	atMs       int64  // its score there
	runnableMs int64  // when its wake number was raised
	restMs     int64  // when it was suspended or began to finalize
	cancelMs   int64  // when a cancel was recorded
	cleanupMs  int64  // when the next attempt to clean up is due, 0: nothing to do

	children []spawned             // in the order of spawning
	await    []execution.RequestID // the inbox entries for which it is parked

	pushes pushes
}

// storedEvent is an event as it is kept: the payload as bytes.
type storedEvent struct {
	atMs    int64
	payload []byte
}

// carried is what the last claim did in place of being granted, for a repeat after a lost reply.
type carried struct {
	nonce   string
	refused *journal.ClaimRefused
}

// lastCall is the last numbered call of a holder and its answer, for a repeat after a lost reply.
type lastCall struct {
	fence     journal.Fence
	operation journal.Operation
	method    string
	sequence  execution.Sequence // of its event, 0: none
	tasks     []execution.Task
	renewed   journal.Renewed
	committed journal.Committed
}

// lastCommit is the last commit and its answer.
type lastCommit struct {
	fence  journal.Fence
	step   execution.Step
	answer journal.Committed
}

// talk is the name of its conversation.
func (r *row) talk() string { return journal.ConversationName(r.Caller.Tenant, r.ConversationID) }

// holds reports whether fence is the current one.
func (r *row) holds(fence journal.Fence) bool { return r.Claim != nil && r.Claim.Fence == fence }

// live reports whether a claim holds the row at that time.
func (r *row) live(nowMs int64) bool { return r.Claim != nil && r.Claim.ExpiresAtMs > nowMs }

// takeAway removes the claim without its holder's doing: the fence is raised.
func (r *row) takeAway() {
	if r.Claim != nil {
		r.counter++
		r.Claim = nil
	}
}

// touch counts a change that a client can see.
func (r *row) touch(nowMs int64) {
	r.Version++
	r.UpdatedAtMs = nowMs
}

// place moves the row's entry.
func (r *row) place(index string, atMs int64) { r.index, r.atMs = index, atMs }

// write appends an event. Payloads that reach it can be encoded: they were checked, or are the store's own.
func (r *row) write(nowMs int64, payloads ...execution.Payload) {
	for _, p := range payloads {
		encoded, err := execution.EncodePayload(p)
		if err != nil {
			panic(err) // unreachable: no payload holds what JSON cannot express
		}
		r.events = append(r.events, storedEvent{nowMs, encoded})
	}
	r.LastSequence = execution.Sequence(len(r.events))
}

// event reads an event back. One that cannot be read hides no other one.
func (r *row) event(sequence execution.Sequence) execution.Event {
	stored := r.events[sequence-1]
	payload, err := execution.DecodePayload(stored.payload)
	if err != nil {
		payload = &execution.UnreadableEvent{}
	}
	return execution.Event{Sequence: sequence, OccurredAtMs: stored.atMs, Payload: payload}
}

// answered reports whether somebody answered the request, used or not.
func (r *row) answered(request execution.RequestID) bool {
	if _, ok := r.inbox[request]; ok {
		return true
	}
	return r.receipt(request)
}

// receipt reports whether a client answered the request.
func (r *row) receipt(request execution.RequestID) bool {
	for _, receipt := range r.InputReceipts {
		if receipt.RequestID == request {
			return true
		}
	}
	return false
}

// consume deletes an inbox entry and closes the interaction it answered.
func (r *row) consume(request execution.RequestID) {
	delete(r.inbox, request)
	if r.PendingInteraction != nil && r.PendingInteraction.RequestID == request {
		r.PendingInteraction = nil
	}
}

// task is the task that should be standing for a runnable row.
func (r *row) task(nowMs int64) execution.Task {
	queue := journal.TaskQueue(r.Queue, r.StartedAtMs != 0, r.Suspect(nowMs))
	return execution.Task{Execution: r.ID, Step: r.Step, Wake: r.Wake, Queue: queue}
}

// standing is the row's task again, for a repeated command whose reply, and with it the task, may have been lost.
func (r *row) standing(nowMs int64) []execution.Task {
	if r.index != indexHandoff {
		return nil
	}
	return []execution.Task{r.task(nowMs)}
}

// snapshot is a copy of the row that shares nothing with it.
func (r *row) snapshot() journal.Execution {
	e := r.Execution
	e.Wait = clone(e.Wait)
	e.Suspension = clone(e.Suspension)
	e.Failure = clone(e.Failure)
	e.Claim = clone(e.Claim)
	e.Delegation = clone(e.Delegation)
	e.ForkedFrom = clone(e.ForkedFrom)
	e.Parent = clone(e.Parent)
	e.Cleanup = slices.Clone(e.Cleanup)
	e.Outcome = clone(e.Outcome)
	if e.Outcome != nil {
		e.Outcome.Output = slices.Clone(e.Outcome.Output)
	}
	e.PendingInteraction = cloneInteraction(e.PendingInteraction)
	e.InputReceipts = maps.Clone(e.InputReceipts)
	e.ReclaimWorkers = slices.Clone(e.ReclaimWorkers)
	e.Request, e.Overrides = cloneRequest(e.Request), slices.Clone(e.Overrides)
	return e
}

func cloneRequest(request execution.CreateRequest) execution.CreateRequest {
	request.Metadata = maps.Clone(request.Metadata)
	request.Input.Decisions = slices.Clone(request.Input.Decisions)
	return request
}

func cloneInteraction(i *execution.Interaction) *execution.Interaction {
	i = clone(i)
	if i != nil {
		i.Calls = slices.Clone(i.Calls)
		for n := range i.Calls {
			i.Calls[n].Arguments = slices.Clone(i.Calls[n].Arguments)
		}
	}
	return i
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// nonceOf is the part of a fence that the claimant chose.
func nonceOf(fence journal.Fence) string {
	_, nonce, _ := strings.Cut(string(fence), "-")
	return nonce
}
