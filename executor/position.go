package executor

import (
	"slices"
	"time"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// nodeQuantum is how long after its claim a task may begin one more node. A task that has had its time goes back to its
// queue, so that executions with quick nodes do not keep the others waiting; a slow node, such as a real model request,
// is the last one of its task.
const nodeQuantum = 100 * time.Millisecond

// position is where an execution stands under a claim, and what its next node needs: at first what the claim brought,
// then what the commits made of it.
type position struct {
	step       execution.Step
	node       string
	attempts   int // failed ones at this step
	usage      execution.Usage
	sequence   execution.Sequence // of the last event
	checkpoint []byte
	state      *RunState             // of the checkpoint; nil: to be read from it
	ledger     []journal.LedgerEntry // of the batch, in its order
	inbox      []journal.InboxEntry
}

func positionOf(claimed *journal.Claimed) position {
	row := &claimed.Execution
	return position{
		step: row.Step, node: row.Node, attempts: row.Attempts, usage: row.Usage, sequence: row.LastSequence,
		checkpoint: claimed.Checkpoint, ledger: claimed.Ledger, inbox: claimed.Inbox,
	}
}

// sequence is that of the last event: the position's and the events that came with ledger entries since.
func (h *holder) sequence() execution.Sequence {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.position.sequence + execution.Sequence(h.logged)
}

// moveOn is the position behind the boundary, after a commit that kept the claim or while it waits to be written.
func (h *holder) moveOn(l *link, committed journal.Committed) {
	commit := &l.commit
	h.position = position{
		step: committed.Step, node: commit.Node, usage: commit.Usage, sequence: committed.Sequence,
		checkpoint: commit.Checkpoint, state: asStored(&l.state), ledger: l.ledger,
		inbox: slices.DeleteFunc(slices.Clone(h.position.inbox), func(entry journal.InboxEntry) bool {
			return slices.Contains(commit.Consumed, entry.RequestID)
		}),
	}
	h.mu.Lock()
	h.logged = 0
	h.mu.Unlock()
}

// asStored is the state if it is what reading its checkpoint would give: what came from a model or a person as JSON is stored in
// another form.
func asStored(state *RunState) *RunState {
	if state.Response != nil || state.Output != nil || state.Remote != nil {
		return nil
	}
	if state.Batch != nil {
		for i := range state.Batch.Calls {
			if call := &state.Batch.Calls[i]; call.Question != nil || call.Reply != nil {
				return nil
			}
		}
	}
	return state
}

// boundary is the checkpoint that the next node starts from.
func (h *holder) boundary() (Checkpoint, error) {
	if h.position.state == nil {
		checkpoint, err := DecodeCheckpoint(h.position.checkpoint)
		h.trace = checkpoint.Resume.TraceContext
		return checkpoint, err
	}
	return Checkpoint{Node: Node(h.position.node), State: *h.position.state}, nil
}

// mayKeep decides whether the claim is kept for one more node. Steps that were reclaimed before run alone in a queue of
// their own, which they leave as soon as they can.
func (h *holder) mayKeep(commit *journal.Commit) bool {
	return commit.Then.Kind == journal.ThenContinue && h.nodes < h.durable.cfg.NodesPerTask &&
		h.claimed.Execution.Reclaims == 0 && time.Since(h.at) < nodeQuantum && h.node.Err() == nil &&
		!h.durable.isDraining()
}

// ledgerAfter is the ledger of the commit's batch once it is written. It returns false for a batch with a call that this
// claim has not seen: the next claim brings it.
func (h *holder) ledgerAfter(commit *journal.Commit) ([]journal.LedgerEntry, bool) {
	if len(commit.Batch) == 0 {
		return nil, true
	}
	seen := make(map[execution.CallID]journal.LedgerEntry, len(commit.Batch))
	for _, entry := range h.position.ledger {
		seen[entry.CallID] = entry
	}
	h.mu.Lock()
	for id, entry := range h.written {
		if entry.Intent == nil {
			entry.Intent = seen[id].Intent
		}
		seen[id] = entry
	}
	h.mu.Unlock()
	for _, plan := range commit.Plan {
		if seen[plan.CallID].State != journal.Done {
			seen[plan.CallID] = journal.LedgerEntry{CallID: plan.CallID, State: journal.Planned, Intent: plan.Intent}
		}
	}
	ledger := make([]journal.LedgerEntry, len(commit.Batch))
	for i, id := range commit.Batch {
		entry, ok := seen[id]
		if !ok || entry.State == "" {
			return nil, false
		}
		ledger[i] = entry
	}
	return ledger, true
}

// wrote remembers ledger entries as they are stored, and counts the events that came with them.
func (h *holder) wrote(entries []journal.LedgerEntry, events int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.logged += events
	if h.written == nil {
		h.written = map[execution.CallID]journal.LedgerEntry{}
	}
	for _, entry := range entries {
		h.written[entry.CallID] = entry
	}
}
