// Package httpapi is Pawl's HTTP API: it translates requests into calls of a link and answers into JSON, problems
// (application/problem+json) and event streams.
//
// # Invariants
//
//   - Nothing is accepted and ignored: unknown fields, parameters and fields of features that are not built are refused
//     by name, before anything is written.
//   - Every error, the framework's own included, is a problem with a stable code; what went wrong inside is logged under
//     the request id and never sent.
//   - A stream that ends without its terminal event was cut: the client comes back with Last-Event-ID, to any replica.
//   - Without authentication only loopback names and same-origin pages are served.
//
// The package must not know Redis, Asynq, the journal or how a node works.
package httpapi
