-- Purpose: lists a partition's executions that a worker could take, or whose clean-up is open.
-- KEYS: 1 due (zset), 2 handoff (zset), 3 purge (zset), 4 cleanup (zset). Exception: the rows of the entries are derived, in
--   the same hash tag.
-- ARGV: 1 limit, 2 entries looked at in each index, then the tail.
-- Returns: ids and scores, flat.
-- Refuses: nothing.
-- Invariant: writes nothing; bounded.
local limit, bound = unpack(ARGV, 1, 2)
local t = tail()
local partition = string.match(KEYS[1], '^(.*:)due$')
local x = { tail = t, due = KEYS[1], handoff = KEYS[2], purge = KEYS[3] }
local m = moves()
local found, listed = {}, {}

local function takes(member)
  if redis.call('TYPE', partition .. 'x:' .. member)['ok'] ~= 'hash' then return false end
  local y = m.sibling(x, member)
  local row = y.row
  if row.state == 'finalizing' then return not live(y) end
  if row.state == 'queued' or row.state == 'running' then
    return row.active ~= '' and not live(y) and number(row.notBeforeMs) <= t.now
      and not (row.waitKind ~= '' and row.notBeforeMs == '')
  end
  return row.endedAtMs ~= '' and unclean(y)
end

local function add(member, score)
  if not listed[member] and takes(member) then
    listed[member] = true
    found[#found + 1] = member
    found[#found + 1] = score
  end
end

local function scan(range)
  local stop = #found + 2 * number(limit)
  for n = 1, #range, 2 do
    if #found >= stop then return end
    add(range[n], range[n + 1])
  end
end

scan(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', text(t.now), 'WITHSCORES', 'LIMIT', 0, bound))
scan(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', '+inf', 'WITHSCORES', 'LIMIT', 0, bound))
for _, member in ipairs(redis.call('ZRANGE', KEYS[4], 0, number(bound) - 1)) do
  local score = redis.call('ZSCORE', KEYS[3], member) or redis.call('ZSCORE', KEYS[1], member)
  if score then add(member, score) end
end
return found
