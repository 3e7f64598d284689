-- Purpose: says what a push config was told last.
-- KEYS: 1 row (hash: it is not changed), 2 push configs (hash).
-- ARGV: 1 name, 2 mark, then the tail.
-- Returns: 1.
-- Refuses: NOTFOUND.
-- Invariant: a config that was deleted meanwhile does not come back.
local name, mark = unpack(ARGV, 1, 2)
if redis.call('HEXISTS', KEYS[1], 'state') == 0 then return refuse('NOTFOUND', 'execution') end
if redis.call('HEXISTS', KEYS[2], 'mark:' .. name) == 1 then redis.call('HSET', KEYS[2], 'mark:' .. name, mark) end
return 1
