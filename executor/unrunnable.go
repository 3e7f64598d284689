package executor

import (
	"errors"

	"github.com/pawl-run/pawl/journal"
)

// errDefinition reports a definition this worker cannot run: it is not stored, cannot be read, or needs what this program
// does not have. Another worker, or this one after an update, may well run it.
var errDefinition = errors.New("unknown definition")

// unrunnable is errDefinition with what is wrong. Its text stands behind the reason of a suspension, unknown_definition, and
// does not say that again.
type unrunnable struct {
	hash string // of the definition; empty: the text says which it is
	err  error
}

// cannotRun is the error of the definition of that hash.
func cannotRun(hash string, err error) error { return &unrunnable{hash: hash, err: err} }

// Error is what is wrong, behind the name of the definition.
func (e *unrunnable) Error() string {
	if e.hash == "" {
		return e.err.Error()
	}
	return "definition " + e.hash + ": " + e.err.Error()
}

// Unwrap is errDefinition, and the cause.
func (e *unrunnable) Unwrap() []error { return []error{errDefinition, e.err} }

// read is the store's error of a definition, which it tells in the words that it has for executions.
func read(err error) error {
	if errors.Is(err, journal.ErrNotFound) {
		return &notStored{err}
	}
	return err
}

// notStored is the store's answer about a definition that it does not have.
type notStored struct{ error }

// Error says no more than that.
func (*notStored) Error() string { return "it is not stored" }

// Unwrap is the store's error.
func (e *notStored) Unwrap() error { return e.error }
