// Package anthropic is the model behind Anthropic's messages API, or a server that speaks the same.
//
// Every request is streamed. Requests are never sent again here: what may be tried again is an error that says so. The key
// comes from the definition's reference alone, never from a variable or a profile that the SDK knows. It must not know the
// loop.
package anthropic
