// Package redisconn turns one URL into a Redis client, whatever the shape of the installation behind it, and finds out at
// the start whether that Redis can be trusted with a journal.
//
// Open knows redis://, rediss://, redis+sentinel:// and redis+cluster:// and sets the timeouts and the pool that the
// programs need. Inspect reads version, eviction policy and persistence; a managed Redis that refuses CONFIG leaves facts
// unknown, which is no error. Errors and logs show a URL only redacted.
//
// The package must not know keys, scripts or Asynq.
package redisconn
