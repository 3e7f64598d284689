// Package dashboard serves Asynq's own monitoring pages inside Pawl: queues, tasks, servers and Redis, as Asynq sees them.
//
// The handler knows nothing of executions and authenticates nobody: mount it behind the API's own checks. It must not
// know the journal, agents or the queue package.
package dashboard
