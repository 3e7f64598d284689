-- Purpose: gives executions of a partition that are due for a look at what is to be told of them, and keeps others from them.
-- KEYS: 1 push (zset). Exception: the rows of the entries are derived, in the same hash tag.
-- ARGV: 1 limit, 2 ms that others leave them alone, then the tail.
-- Returns: ids.
-- Refuses: nothing.
-- Invariant: bounded; an entry is removed only when its row does not exist.
local limit, lease = unpack(ARGV, 1, 2)
local t = tail()
local rows = string.match(KEYS[1], '^(.-}:)') .. 'x:'
local taken = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', text(t.now), 'LIMIT', 0, limit)) do
  if redis.call('EXISTS', rows .. id) == 0 then
    redis.call('ZREM', KEYS[1], id)
    redis.call('UNLINK', rows .. id .. ':push')
  else
    taken[#taken + 1] = id
    redis.call('ZADD', KEYS[1], 'XX', text(t.now + number(lease)), id)
  end
end
return taken
