// Package memjournal is the model of Pawl's journal: every method of journal.Store in memory, under one mutex,
// deterministic, written to be read. Where a text about the journal is unclear, this package and its suite
// (journaltest) decide; redisjournal must do the same, and a differential test compares the two.
//
// # How to read it
//
// A method takes the mutex, guards, and only then writes; after a guard has refused nothing was touched. A row knows the
// one index that holds its entry, so it is in exactly one by construction. Every write of a row goes through touch (a
// change that a client can see) or only through place (an entry that moves).
//
// # What raises a row's version
//
// Everything a client can see: every write except a claim that is not the first, renew, a record of started marks, a
// requeue, a postponed entry and a wait that was merely looked at. UpdatedAtMs moves with the version. Calls that change
// nothing, and repeated calls, raise nothing. A conversation's hand-over raises the version of the row whose turn comes.
//
// The package must not know how Redis does it, and nothing outside tests may use it: it forgets everything at exit.
package memjournal
