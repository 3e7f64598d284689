-- Purpose: marks an idempotency key whose row, in another partition, is about to be deleted.
-- KEYS: 1 idempotency key (hash), 2 purge of its partition (zset).
-- ARGV: 1 member, 2 ms until which it is kept, 3 execution that is deleted, then the tail.
-- Returns: 1 when it is marked, else 0: the key is another execution's.
-- Refuses: nothing.
-- Invariant: the first write is a ZREM; repeated, it changes nothing.
local member, at, id = unpack(ARGV, 1, 3)
local holder = redis.call('HGET', KEYS[1], 'execution')
if holder and holder ~= id then return 0 end

redis.call('ZREM', KEYS[2], member)
redis.call('ZADD', KEYS[2], at, member)
redis.call('HSET', KEYS[1], 'execution', id, 'gone', '1')
redis.call('HDEL', KEYS[1], 'fingerprint')
return 1
