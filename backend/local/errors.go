package local

import (
	"errors"
	"fmt"
	"time"
)

// ErrorKind says what the loop may do about an error.
type ErrorKind string

// The kinds of error.
const (
	Transient ErrorKind = "transient" // may be sent again after a while, nothing has happened
	Permanent ErrorKind = "permanent" // sending it again gives the same answer
	Unknown   ErrorKind = "unknown"   // tools only: it may have happened
)

// CodeMalformedResponse is the code of a model's answer that could not be read. It is permanent for the request that got
// it; the loop asks the model again, at most twice in an execution, before it fails.
const CodeMalformedResponse = "malformed_response"

// Error is how a model or a tool fails. Code is stable (rate_limited, overloaded, unauthorized, context_length …);
// Message is for people. Neither carries a secret.
type Error struct {
	Kind       ErrorKind
	Code       string
	Message    string
	RetryAfter time.Duration // never try before; 0: no wish
	Err        error
}

// Error is the code and the message.
func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Code, e.Message) }

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf classifies any error; one that is no *Error is permanent.
func KindOf(err error) ErrorKind {
	var classified *Error
	if errors.As(err, &classified) {
		return classified.Kind
	}
	return Permanent
}
