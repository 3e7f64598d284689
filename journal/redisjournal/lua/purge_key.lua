-- Purpose: deletes an idempotency key whose row, in another partition, is gone or about to go.
-- KEYS: 1 idempotency key (hash), 2 purge of its partition (zset).
-- ARGV: 1 member, 2 score seen in ms (empty: whatever it is), 3 execution seen, then the tail.
-- Returns: 1 when deleted, else 0.
-- Refuses: nothing: an entry that has moved on is left alone.
-- Invariant: the first write is a ZREM.
local member, at, id = unpack(ARGV, 1, 3)
local t = tail()
if at ~= '' then
  local score = redis.call('ZSCORE', KEYS[2], member)
  if not score or number(score) ~= number(at) or number(score) > t.now then return 0 end
end
local holder = redis.call('HGET', KEYS[1], 'execution')
if holder and holder ~= id then return 0 end

redis.call('ZREM', KEYS[2], member)
redis.call('UNLINK', KEYS[1])
return 1
