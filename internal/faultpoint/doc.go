// Package faultpoint lets a test kill a process at a named point of the step protocol.
//
// Without the build tag "faultpoint" Hit is empty and nothing is compiled in: shipped binaries hold no fault point. With
// the tag, PAWL_FAULTPOINT names one point, and the process writes the line "FAULTPOINT <name>" to standard error and ends
// itself with SIGKILL when it reaches it. "<name>#3" means the third time.
//
// The points are claimed:<boundary> (right after a claim at that boundary), before_commit:<boundary> (after the node's
// work, before the commit that writes that boundary), after_commit:<boundary> (between commit and enqueue; a chain of
// boundaries is written as far as that one), tool_started (after the started mark of a batch), tool_sent (after a tool
// answered, before its receipt), remote_answered (after a remote agent answered, before that is written), delegation_granted
// (after the server gave tokens, before they are stored) and delegation_established (after that, before the row knows). The
// boundary run_start and the two of delegations are reached in the API, the others in a worker.
package faultpoint
