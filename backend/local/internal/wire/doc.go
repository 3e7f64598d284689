// Package wire is what the models behind an HTTP API share: their settings, a transport that watches over an answer, the
// meaning of errors, and a transcript that every provider accepts.
//
// Nothing here retries, and no error, log or result carries the key: texts of a provider are only passed on when no part
// of the key is in them. It must not know a provider's messages.
package wire
