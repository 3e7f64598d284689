-- Purpose: stores a push config of an execution, which is due for a look from then on.
-- KEYS: 1 row (hash: it is not changed), 2 push configs (hash), 3 push (zset).
-- ARGV: 1 id, 2 name, 3 config, 4 mark, 5 most configs of an execution, then the tail.
-- Returns: 1.
-- Refuses: NOTFOUND, LIMIT.
-- Invariant: an execution stands in the index from its first config on. The same config again changes nothing: what was told
--   since is known better here.
local id, name, config, mark, most = unpack(ARGV, 1, 5)
local t = tail()
if redis.call('HEXISTS', KEYS[1], 'state') == 0 then return refuse('NOTFOUND', 'execution') end
local before = redis.call('HGET', KEYS[2], 'config:' .. name)
if before == config then return 1 end
if not before and redis.call('HLEN', KEYS[2]) >= 2 * number(most) then return refuse('LIMIT', 'push_configs') end
redis.call('ZADD', KEYS[3], 'NX', text(t.now), id)
redis.call('HSET', KEYS[2], 'config:' .. name, config, 'mark:' .. name, mark)
return 1
