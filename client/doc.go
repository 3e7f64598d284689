// Package client is the Go client of Pawl's HTTP API. It satisfies link.RuntimeLink, with errors that errors.Is tells
// apart by execution's classes, and follows an execution across broken connections and API replicas.
//
// A call that may be repeated without harm is repeated by itself, a few times and with jitter, when the API cannot be
// reached or says that it is not available: reads, inputs, cancels, and submissions with an idempotency key.
//
// The package imports execution and the standard library only, and keeps its compatibility.
package client
