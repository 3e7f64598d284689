-- Purpose: moves executions of a partition on in the index of those to be told of.
-- KEYS: 1 push (zset).
-- ARGV: 1 ms that others leave them alone (0: they are due), 2 ids between spaces, then the tail.
-- Returns: 1.
-- Refuses: nothing.
-- Invariant: no entry is added.
local lease, ids = unpack(ARGV, 1, 2)
local t = tail()
for id in string.gmatch(ids, '%S+') do redis.call('ZADD', KEYS[1], 'XX', text(t.now + number(lease)), id) end
return 1
