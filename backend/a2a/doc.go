// Package a2a is the backend of agents that are elsewhere and speak the A2A protocol, version 0.3, by JSON-RPC.
//
// A root run is resumable. Its first call sends the message and returns with the remote's task id in the state; each later
// call looks once at that task:
//
//	phase      what the next call does            leaves for
//	sending    sends the same message once more   working, an end
//	working    looks at the task                  input, auth, ended, or stays
//	input      sends the answer to the same task  working, an end
//	auth       looks; sends if it still waits     working, an end
//	ended      a new task in the same context     working, an end
//
// Invariants: nothing is waited for before the task's id is returned, so whoever keeps the state reconnects by id after a
// crash and never sends again; the id of a message follows from the run, so that a repeat can be told from another message;
// a message whose fate is unknown is sent once more and then never again. What may fail, by when:
//
//	nothing was taken (408, 425, 429, 503, no connection)   transient
//	a message's answer was lost (other 5xx, cut, timeout)   the message is sent once more, then outcome_unknown
//	a look or a cancel failed                               transient
//	everything else the remote refuses                      permanent
//
// Errors are *backend.Error with a *local.Error inside, and carry no secret. The package must not know the loop, the store or
// who calls again. Credentials come resolved with the endpoint and stay in memory.
package a2a
