-- Purpose: claims an idempotency key whose execution lives in another partition.
-- KEYS: 1 idempotency key (hash), 2 purge of its partition (zset).
-- ARGV: 1 execution, 2 fingerprint, 3 member in the purge index, 4 ms until it is looked at, 5 fingerprint as an earlier
--   release stored it, then the tail.
-- Returns: the execution that has the key.
-- Refuses: CONFLICT key_reused, CONFLICT gone (its execution was deleted).
-- Invariant: repeatable in any order with the row's script, because the execution's id is derived from the key.
local id, fingerprint, member, delay, earlier = unpack(ARGV, 1, 5)
local t = tail()
local entry = redis.call('HMGET', KEYS[1], 'execution', 'fingerprint', 'gone')
if entry[3] then return refuse('CONFLICT', 'gone') end
if entry[1] then
  if entry[2] ~= fingerprint and entry[2] ~= earlier then return refuse('CONFLICT', 'key_reused') end
  return entry[1]
end
redis.call('ZADD', KEYS[2], text(t.now + number(delay)), member)
redis.call('HSET', KEYS[1], 'execution', id, 'fingerprint', fingerprint)
return id
