// Package backend is the vocabulary of what carries out an agent: which capabilities a backend declares, in which status a
// run of it ended, and how the two become words for the store and for people.
//
// It must not know the agent loop, Redis or a transport. A status and a termination are separate values and may disagree;
// a status that waits always wins. Nothing here has a useful zero value: capabilities come from Full or
// RemoteStatelessText, statuses and terminations from their constructors.
package backend
