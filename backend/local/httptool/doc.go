// Package httptool carries out tool calls by an HTTP POST to the address in the agent's definition, and asks the tool's
// status probe what became of a call.
//
// What an answer means:
//
//	2xx                                        the body is the result
//	202 with {"deferred": true}                the result comes later, as input of the execution; expiresAfterMs
//	                                           beside it says how long that may take
//	408, 425, 429, 503                         transient for every recovery class; Retry-After is honored
//	failure before anything could be written   transient for every recovery class
//	401 to a token of a delegation             sent once more with another token; if there is none or that is refused
//	                                           too, a result marked as an error, without the answer's text
//	other 4xx, redirects that are refused      a result marked as an error
//	other 5xx, network failure or timeout      transient for read_only and idempotent; an unknown outcome
//	afterwards, context ended                  for unsafe, and for reconcile until its probe was asked
//
// Every request carries the effect id as its Idempotency-Key. Two things of net/http would send a call twice that must not
// be, and are shut off for unsafe and reconcile: requests with that header are sent again by the transport when a kept
// connection turns out to be dead, so these calls never use a kept connection and cannot be rewound; and redirects are
// followed here, not by the client. "Before anything could be written" ends when the request gets its connection, a moment too early and never too
// late.
//
// Hosts come from the agent file only: no proxy of the environment is used and no redirect leads to another host. HTTP/1.1
// only, so that a canceled call closes its connection. Header values and addresses may hold secrets: neither appears in
// an error or a result, and nothing is logged. The package must not know the ledger, the loop or who retries.
package httptool
