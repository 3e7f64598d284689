package execution

import "errors"

// ErrNewer reports a stored record that a later release wrote, in a form that this one does not know. It is whole: whoever
// meets it leaves it as it is, and a program of that release goes on with it.
var ErrNewer = errors.New("written by a later release")
