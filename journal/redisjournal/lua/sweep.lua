-- Purpose: lists the entries of a partition whose time has come: of due first, then handoff, then purge.
-- KEYS: 1 due (zset), 2 handoff (zset), 3 purge (zset), 4 lock (string). Exception: the rows of the entries are derived, in
--   the same hash tag.
-- ARGV: 1 limit, 2 ms a partition that was swept to the end is left alone (0: no lock), 3 known states, then the tail.
-- Returns: {now in ms, entries as member, index, score, action, step, wake, queue, since in ms}.
-- Refuses: nothing.
-- Invariant: bounded; one bad record never stops the rest; an entry is removed only when its row does not exist. The lock
--   is taken by a sweep that came to the end: after a full page the same reaper comes again at once. It holds the instant
--   of its end, so that the clock of the script decides. A ZREM precedes it, so that a full Redis admits it.
local limit, lock, states = unpack(ARGV, 1, 3)
local t = tail()
local partition = string.match(KEYS[1], '^(.*:)due$')
local x = { tail = t, due = KEYS[1], handoff = KEYS[2], purge = KEYS[3] }
local m = moves()
local found, gone = {}, {}

local function entry(member, index, score)
  if string.sub(member, 1, 5) == 'idem:' then return { member, index, score, 'key', '0', '0', '', '0' } end
  local kind = redis.call('TYPE', partition .. 'x:' .. member)['ok']
  if kind == 'none' then return nil end
  if kind ~= 'hash' then return { member, index, score, 'malformed', '0', '0', '', '0' } end
  local y = m.sibling(x, member)
  local row = y.row
  if newer(row) then return { member, index, score, 'newer', '0', '0', '', '0' } end
  if not contains(states, row.state) or row.id ~= member or not tonumber(row.step) then
    return { member, index, score, 'malformed', '0', '0', '', '0' }
  end
  local what = m.action(y, index)
  local queue, since = '', '0'
  if what == 'standing' then
    queue = row.taskQueue ~= '' and row.taskQueue or row.queue
    since = row.runnableAtMs
  elseif what == 'requeue' then
    queue = task_queue(y)
  end
  return { member, index, score, what, row.step, text(number(row.wake)), queue, text(number(since)) }
end

local locks = number(lock) > 0
if locks and number(redis.call('GET', KEYS[4])) > t.now then return { text(t.now), {} } end
local seen = 0
for i, index in ipairs({ 'due', 'handoff', 'purge' }) do
  local left = number(limit) - #found
  if left > 0 then
    local range = redis.call('ZRANGEBYSCORE', KEYS[i], '-inf', text(t.now), 'WITHSCORES', 'LIMIT', 0, left)
    seen = seen + #range / 2
    for n = 1, #range, 2 do
      local one = entry(range[n], index, range[n + 1])
      if one then
        found[#found + 1] = one
      else
        gone[#gone + 1] = { KEYS[i], range[n] }
      end
    end
  end
end
for _, one in ipairs(gone) do redis.call('ZREM', one[1], one[2]) end
if locks and seen < number(limit) then
  redis.call('ZREM', KEYS[1], '')
  redis.call('SET', KEYS[4], text(t.now + number(lock)), 'PX', lock)
end
return { text(t.now), found }
