// Package local is the contract of our own agent loop's parts: the model that answers, the tools it may call, and the
// Kit that a definition is built into. Each provider is a subfolder.
//
// A part is called at most once at a time for one execution's node, must return when its context ends, and keeps no state
// of an execution between calls: whatever must survive a crash is in the executor's state. Errors are classified with
// *Error; everything else counts as permanent.
package local
