-- Purpose: moves an index entry on: its task is standing, or its row cannot be read.
-- KEYS: 1 row or idempotency key (any type: it is not read), 2 the index (zset).
-- ARGV: 1 member, 2 score seen in ms, 3 delay in ms, then the tail.
-- Returns: 1 when moved, 0 when the entry has moved on by itself.
-- Refuses: nothing.
-- Invariant: no entry is added for a row that is gone. The first write is a ZREM, which is admitted when memory is full:
--   entries that could not be moved on would keep a sweep from ever coming to its purges.
local member, at, delay = unpack(ARGV, 1, 3)
local t = tail()
local score = redis.call('ZSCORE', KEYS[2], member)
if not score or number(score) ~= number(at) or number(score) > t.now then return 0 end
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('ZREM', KEYS[2], member)
  return 0
end
redis.call('ZREM', KEYS[2], '')
redis.call('ZADD', KEYS[2], 'XX', text(t.now + number(delay)), member)
return 1
