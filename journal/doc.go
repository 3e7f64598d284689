// Package journal is the contract of Pawl's store: the one place where an execution's state, its events, its checkpoints
// and its ledger change, together and atomically.
//
// The contract is split by who calls it: ExecutionJournal (the reference contract, fourteen methods), Steps (a worker
// that holds a claim), Commands (API and operators), Recovery (the reaper), Reader (everybody who looks), Feed (everybody
// who follows) and Definitions. Store is all of them.
//
// # Invariants
//
//   - Only the holder of the newest fence can advance an execution, and every change is one atomic write.
//   - State and event never disagree; sequences start at 1, have no gap, and the terminal event is the last one.
//   - A row is in exactly one of three indexes (due, handoff, purge), so whatever happens, somebody looks at it again.
//   - A refusal changes nothing. A sweep skips and counts a bad record; it never aborts.
//   - The store's clock is the only clock: callers pass durations.
//   - Payloads (checkpoints, messages, ledger entries, inbox entries, definitions) are opaque bytes.
//
// # What a client can see
//
// Version counts the changes a client can see, and UpdatedAtMs moves with it: every write raises it by one, except a
// claim that is not the first, a renew, a record of started marks, and the reaper's writes that only move an entry or
// raise the wake number. A call that changes nothing, or repeats one, raises nothing. When an execution ends, the one
// whose turn comes in its conversation is raised as well.
//
// # Order of refusals
//
// A holder's call is refused, in this order: arguments that contradict themselves (ErrConflict), no such row
// (ErrNotFound), another fence (ErrFenced), a number that is not the next (ErrConflict), the state (ErrState), what is
// stored (ErrConflict), a bound (ErrLimit). A repeat is answered before the fence is looked at; a repeated renew only
// while its fence is the current one. A claim asks for state, step, live claim, not-before and turn; then a recorded
// cancel or pause takes effect, then quarantine.
//
// # Bounds of the log
//
// Config.MaxEvents bounds what holders write by themselves: commits that do not end the execution, appended events,
// interactions, and events of a record that belong to none of its calls. Events of claims, commands, retries and endings
// are always written: the state moves, so its event must. So is that of a call with its receipt: it has happened.
//
// The package must not know agents, HTTP, Asynq or how a node works. Two implementations satisfy it under one
// conformance suite (journaltest): memjournal, the model, and redisjournal, the real one.
package journal
