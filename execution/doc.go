// Package execution is the vocabulary that an app, a worker and the store share: ids, states, tasks, events, frames,
// views, inputs, interactions, outcomes, failures, usage, limits, messages and tool calls.
//
// It holds data and the rules that belong to one value alone (validation, encoding). It must not know Redis, Asynq, HTTP
// (beyond the status that an error has) or the agent loop. Every JSON it defines has camelCase keys and snake_case enum
// values, and this package promises compatibility: what it writes today, a later release reads.
package execution
