// Package redisjournal is the real journal.Store: Redis 7, standalone, Sentinel or Cluster.
//
// Every call that writes is one Lua script over keys of one partition, so it happens as a whole or not at all. The
// scripts stand in lua/, one operation per file, behind a shared prefix (lib.lua); Go encodes payloads and Lua never looks
// into them. A script reads, guards, decides on a copy of the row, and only then writes.
//
// # Invariants
//
//   - The fence is the first guard of every holder's script, with the replay of a lost reply by the same fence beside it.
//   - A refusal writes nothing. What a script reads is read, and so type-checked, before its first write.
//   - A row has its entry in exactly one of the indexes due, handoff and purge.
//   - The first write of a script that gives back what was paid for is a ZREM, which Redis admits when it is full.
//   - Nothing depends on a script being cached: SCRIPT FLUSH may come between any two calls.
//
// The package must not know agents, nodes, HTTP or Asynq.
package redisjournal
