// Package modelserver is a model server for tests. It speaks the wire formats of OpenAI and Anthropic, holds every request
// against the rules of its API, written from the public references, and answers 400 in that API's words when one is
// broken: a request that would brick a conversation at the provider fails the test here. It counts requests and sees when
// their connections are closed.
//
// It must not know Pawl.
package modelserver
