-- Purpose: deletes a push config of an execution.
-- KEYS: 1 row (hash: it is not changed), 2 push configs (hash), 3 push (zset).
-- ARGV: 1 id, 2 name, then the tail.
-- Returns: 1.
-- Refuses: NOTFOUND.
-- Invariant: an execution without configs is in no index.
local id, name = unpack(ARGV, 1, 2)
if redis.call('HEXISTS', KEYS[1], 'state') == 0 then return refuse('NOTFOUND', 'execution') end
redis.call('HDEL', KEYS[2], 'config:' .. name, 'mark:' .. name)
if redis.call('EXISTS', KEYS[2]) == 0 then redis.call('ZREM', KEYS[3], id) end
return 1
