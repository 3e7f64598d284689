// Package dashboard is what a person on call looks at: Pawl's own pages (Pages) and Asynq's (Monitoring).
//
// Pages reads and steers executions through link.RuntimeLink, as every client does, with the authority of whoever asks:
// what a client may not see or do, nobody sees or does here. What no client can ask for, the counts, queues and workers of
// the installation, comes through Facts. Every action is a form that works without scripts; what the scripts add is that a
// page follows what it shows.
//
// Monitoring serves Asynq's pages of queues, tasks, servers and Redis. It knows nothing of executions.
//
// Neither authenticates anybody: mount both behind the API's own checks. The package must not know the journal, agents or
// the queue package.
package dashboard
