// Package delegate is the tool that runs another agent inside a call: the agent works in the caller's process until it has
// an answer, and nothing of it is kept.
//
// What the agent has spent is the caller's, and its limits are a share of the caller's. It cannot wait: a run that needs a
// person, or that is suspended, is an error that the model reads. Of a durable agent the loop starts an execution and
// never calls this tool, unless it runs in a process alone, where executions have no children.
//
// The package must not know how agents are run in the process: it gets that as a function.
package delegate
