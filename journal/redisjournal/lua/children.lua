-- Purpose: lists the children of an execution.
-- KEYS: the nine of an execution (lib.lua). Exception: :children and the rows of the children are derived, in the same hash
--   tag.
-- ARGV: the tail.
-- Returns: for each child, in the order of spawning, its id, its call, its agent and its state (both empty: it is gone), flat.
-- Refuses: NOTFOUND.
-- Invariant: writes nothing; bounded, as the children are.
local x = open(tail(), { 'id', 'state', 'runnableAtMs', 'children' })
if not x.exists then return refuse('NOTFOUND', 'execution') end
local found = {}
if x.row.children == '' then return found end
for _, member in ipairs(redis.call('ZRANGE', x.key .. ':children', 0, -1)) do
  local name, call = string.match(member, '^(%S+) (.+)$')
  local id = string.sub(x.row.id, 1, TAIL - 1) .. name
  local key, agent, state = partition(x) .. 'x:' .. id, '', ''
  if redis.call('TYPE', key)['ok'] == 'hash' then
    local row = redis.call('HMGET', key, 'agent', 'state')
    agent, state = row[1] or '', row[2] or ''
  end
  found[#found + 1], found[#found + 2], found[#found + 3], found[#found + 4] = id, call, agent, state
end
return found
