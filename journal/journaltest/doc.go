// Package journaltest is the specification of Pawl's journal as a test suite: whatever passes it is a journal.Store.
//
// Run holds the clauses; Differential drives two implementations with the same random operations and compares
// everything that can be observed. An implementation hands over a Harness: the store, a full dump of what it keeps, its
// indexes, and a way to lose a reply. The suite owns the clock.
//
// The package must not know how a store keeps its data: clauses speak of rows, events, indexes and dumps only. Subtests
// are sentences, and those that guard against a known failure of comparable systems name its case.
package journaltest
