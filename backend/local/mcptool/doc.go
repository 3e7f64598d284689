// Package mcptool carries out tool calls on MCP servers, through the official SDK: servers that are started (standard
// input and output) and servers reached over streamable HTTP.
//
// A declared tool of type mcp is a local.ToolSet: its server's tools. Each is named by the declaration's name, "_" and the
// server's own name for it. A name with characters that models refuse, or longer than 64, is changed to fit and ends with
// "_" and eight hex digits of the sha256 of what it was, so that it is the same in every worker and meets no other.
//
// Declarations that reach a server in the same way share one session, which is opened when it is first needed, kept for
// all executions of the process, and opened again with back-off after it has died. Opening includes reading the list of
// tools, which is kept also beyond the session's end and read again when the server says that it changed. Opening never
// runs in a caller's time: it has times of its own, and who waits for it gives up after a while with a transient error.
//
// A server declared with auth: delegation is reached as whoever submitted: each claim of an execution has sessions, connections
// and a list of tools of its own, with its token on every request. They end with the claim, in the background, or are taken over by the
// next claim of the same execution and lease when that follows within a moment; what the program
// shares about such a server is only how its tools behave when they ask questions. A claim that has no token, or whose token
// the server refuses, is given one tool that says so.
//
// What a call comes to:
//
//	a result, isError or not, a JSON-RPC error   a result or an error result; the server has spoken
//	no session, failure before the call was sent transient for every recovery class
//	HTTP 408, 425, 429, 503, a session that the
//	server no longer knows                       transient for every recovery class; Retry-After is honored
//	401 to a token of a delegation               sent once more with another token, then an error result
//	other 4xx, redirects                         an error result
//	server gone, timeout, other 5xx, context     transient for read_only and idempotent; an unknown outcome for unsafe
//	ended after the call was sent
//
// Each call carries the effect id in its _meta under EffectIDKey and its progress token. A call whose context ends tells
// the server with the protocol's notice of it and returns at once.
//
// Servers may ask people for forms, and nothing else: not by URL, and not for sampling or roots, which are refused. A
// question parks the execution. A server that asks in the middle of a call hears that nobody answered ("cancel"), the
// call's outcome is dropped, and the call is sent again with the person's answer at hand for when the server asks the same
// again; a result that needs input (input_required, from 2026-07-28) is sent again with the answers and the server's state.
// Either way a tool that asks runs again from its beginning: what it does before it asks, it does more than once. What was
// asked and answered travels as the question's state. The effect id of a call that brings n answers ends with "#n".
//
// A question in the middle of a call does not say which call it belongs to. So tools make their first calls one after the
// other, each for a while at most; one that asked has a session of its own for each call from then on; and a question beside
// other calls is held until those have ended. Two calls on one session that ask at once all the same have an unclear end:
// transient for read_only and idempotent, an unknown outcome for unsafe.
//
// A started server gets the variables of its declaration and of inheritedVariables, never the program's others, which
// hold its secrets. What it writes on standard error is logged at debug, bounded. Header values, variables, commands and
// addresses may hold secrets: none appears in an error, a result or a log. The package must not know the ledger, the loop
// or who retries.
package mcptool
