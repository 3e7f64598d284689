-- Purpose: lists the executions of a partition whose clean-up is open and whose next attempt is due.
-- KEYS: 1 cleanup (zset). Exception: the rows of the entries are derived, in the same hash tag.
-- ARGV: 1 limit, 2 known states, then the tail.
-- Returns: {now in ms, for each its id, its score, ms since when it has ended or finalizes, bad (1 or empty), flat}.
-- Refuses: nothing.
-- Invariant: bounded; one bad record never stops the rest. An entry whose row is gone, or has nothing to clean up, is removed.
local limit, states = unpack(ARGV, 1, 2)
local t = tail()
local at = string.match(KEYS[1], '^(.*:)cleanup$')
local found, gone = { t.stamp }, {}
local function add(...)
  for i = 1, select('#', ...) do found[#found + 1] = select(i, ...) end
end

local range = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', t.stamp, 'WITHSCORES', 'LIMIT', 0, limit)
for n = 1, #range, 2 do
  local id, score = range[n], range[n + 1]
  local kind, row = redis.call('TYPE', at .. 'x:' .. id)['ok'], {}
  if kind == 'hash' then
    row = redis.call('HMGET', at .. 'x:' .. id, 'state', 'endedAtMs', 'restAtMs', 'delegated', 'delegationClean', 'cleanup')
    for i = 1, 6 do row[i] = row[i] or '' end
  end
  local known = kind == 'hash' and contains(states, row[1])
  if kind == 'none' then
    gone[#gone + 1] = id
  elseif not known then
    add(id, score, '0', '1')
  elseif row[1] == 'finalizing' or
    is_terminal(row[1]) and unclean({ row = { delegated = row[4], delegationClean = row[5], cleanup = row[6] } }) then
    add(id, score, row[2] ~= '' and row[2] or text(number(row[3])), '')
  else
    gone[#gone + 1] = id
  end
end
for _, id in ipairs(gone) do redis.call('ZREM', KEYS[1], id) end
return found
