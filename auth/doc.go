// Package auth says who sends a request: by an API key, by a token of an OpenID Connect issuer, by a browser's session or by
// a token that opens one stream. A browser gets its session for a key, for a token, or on the issuer's own page.
//
// What is stored in Redis of a secret is its SHA-256. Every secret that Pawl makes has 256 random bits and more, so there is
// nothing to guess, and a slow or keyed hash would protect nothing; it would only slow down every request.
//
// # Invariants
//
//   - No secret is logged, stored or part of an error. A key's is shown once, by Create.
//   - Secrets are compared in constant time, by their hashes; a look-up is one command, whatever the number of keys.
//   - A revoked key is refused within Config.CacheTTL by every process, and with it the sessions and stream tokens that were
//     made with it. A session that has ended takes its stream tokens along. Whoever holds a request open asks Visit.Check again
//     and again.
//   - A login on the issuer's page ends in the browser that began it, once. Whoever begins logins and ends none fills nothing.
//   - A good credential is never refused because of somebody else's bad ones.
//
// The package must not know executions' rows, routes or pages. Errors of Enter, of logins and of Check are
// *execution.APIError.
package auth
