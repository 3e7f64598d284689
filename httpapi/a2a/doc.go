// Package a2a is Pawl's face to the agents of others: it speaks the A2A protocol, version 0.3, in front of a link. A task is
// an execution, its context is the execution's conversation, and its id is the execution's id.
//
// Each agent whose file says publish has a card and an endpoint of JSON-RPC. Types, methods and errors are those of the A2A
// SDK for Go, whose RequestHandler Handler implements. The transport is its own: that of the SDK answers a deletion with an
// empty body, names no place in a stream and lets an idle one fall silent. What does not fit the protocol is refused before the SDK decodes
// it, which names no fields.
//
// # Invariants
//
//   - A message is taken once: its id is the idempotency key of what it creates, and the operation id of what it answers.
//   - A stream tells everything that is in the log from where it begins, in order; each of its events that is from the log says
//     where that stands there. A stream that ends without a final event was cut: the client subscribes again, at any replica.
//   - What a caller may not see is not there: a task of another tenant, and one of another agent than the endpoint's.
//   - Secrets of push notifications go to the address that they were left for, and nowhere else.
//
// The package must not know the journal, Redis or how a node works.
package a2a
