// Package link is the contract between an app and Pawl, RuntimeLink, and the service that keeps it: create, get, wait,
// events, follow, input, cancel, pause and resume.
//
// Service turns a caller's request into one atomic write of the journal and then hands the tasks of the answer to the
// queue. It validates everything before it writes anything, checks the caller's authority before it shows anything, and
// never holds truth of its own: any number of services work on one journal.
//
// # Invariants
//
//   - A refused request has written nothing of an execution.
//   - Another tenant's execution does not exist: the error is not_found.
//   - A task that could not be handed over is logged and left to the due index; the caller's answer is already true.
//   - Every error is an *execution.APIError; what it tells a client holds no text of an inner error.
//
// The package must not know HTTP, Redis, Asynq or how a node works. Two implementations satisfy RuntimeLink under one
// conformance suite (linktest): Service.As and client.Client.
package link
