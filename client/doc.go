// Package client is the Go client of Pawl's HTTP API. It satisfies link.RuntimeLink, with errors that errors.Is tells
// apart by execution's classes, and follows executions across broken connections and API replicas.
//
// What may be repeated without harm is repeated by itself, a few times, with jitter and not before Retry-After, when the API
// cannot be reached or says that it is not available: everything but Release. Submissions and forks without an idempotency key
// get one for the call, so that they happen once whatever is lost.
//
// It reads what later servers send: unknown fields are passed over, unknown values of enumerations are handed on, and an event
// of an unknown type is an *execution.UnknownEvent.
//
// The package imports execution and the standard library only, and keeps its compatibility.
package client
