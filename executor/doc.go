// Package executor runs the agent loop: contract A (nodes, cursor, evidence, checkpoint, decision, executor hook), the
// step machine, and its two runners.
//
// The machine is a pure function of a checkpoint's state and an environment: each step does the work after one committed
// boundary and says which boundary to commit next, with the messages, ledger plans and events that belong to it. Durable
// runs one step per task under a claim and commits it with the fence; Direct runs a whole execution in process.
//
// # Invariants
//
//   - A committed step is never run again, and a tool call with a receipt is never entered again.
//   - Everything that must survive a crash is in RunState, in the ledger or in the row; no step depends on memory.
//   - Whoever lost the fence stops at once and writes nothing. Whoever is no longer sure of it sends nothing.
//   - A checkpoint holds no history and no id of its execution, so it stays small and may be copied to another one.
//
// The package must not know Redis, Asynq, HTTP or a provider's client.
package executor
