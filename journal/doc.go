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
// The package must not know agents, HTTP, Asynq or how a node works. Two implementations satisfy it under one
// conformance suite (journaltest): memjournal, the model, and redisjournal, the real one.
package journal
