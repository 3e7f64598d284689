// Package backend is the contract between Pawl and what carries out an agent: our own loop, or a remote agent.
//
// A Backend declares capabilities and takes requests; a Resolved is what carries out one agent, and refuses requests that
// its backend cannot serve; a Registry builds the backends of remote endpoints by their kind; a Lifecycle leads the root run
// of a remote agent: its events, cancellation, what is kept in a CheckpointStore and in which order.
//
// It must not know the agent loop, Redis or a transport. Invariants: a status and a termination are separate values and may
// disagree, and a status that waits always wins; a run is kept before its last events are emitted, so nobody is told of an
// end that is not there; a backend that was left behind can emit and keep nothing. Nothing here has a useful zero value but
// LifecycleConfig and Resolved: capabilities come from Full or RemoteStatelessText, policies, statuses and terminations from
// their constructors.
package backend
