-- Purpose: takes an execution of which all is told out of the index.
-- KEYS: 1 push configs (hash), 2 push (zset).
-- ARGV: 1 id, 2 mark, then the tail.
-- Returns: 1 when it is not in the index any more, else 0: a config has another mark.
-- Refuses: nothing.
-- Invariant: a config that came meanwhile keeps its execution in the index.
local id, mark = unpack(ARGV, 1, 2)
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  if string.sub(all[i], 1, 5) == 'mark:' and all[i + 1] ~= mark then return 0 end
end
redis.call('ZREM', KEYS[2], id)
return 1
