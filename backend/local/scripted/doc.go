// Package scripted is a model that answers from a script in the agent's definition, offline: text, tool calls, delays,
// errors and usage. It plays any path of the loop for demonstrations, examples and tests.
//
// It keeps no state: which entry answers follows from the request's attempt number alone, so that a request sent again
// after a crash gets the entry it would have had. It must not know tools, the store or the loop.
package scripted
