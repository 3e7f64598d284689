-- Purpose: suspends an execution with reason paused, or records the pause when a live claim holds it.
-- KEYS: the nine of an execution (lib.lua).
-- ARGV: 1 states of the move, then the tail.
-- Returns: {changed, pending, row, tasks}.
-- Refuses: NOTFOUND, STATE.
-- Invariant: an open interaction stays open; a cancel recorded before wins.
local states = ARGV[1]
local t = tail()
local x = open(t)
local row = x.row
local m = moves()

if not x.exists then return refuse('NOTFOUND', 'execution') end
if row.state == 'suspended' then return { '0', '0', whole(x), '' } end
if not contains(states, row.state) then return refuse('STATE', row.state) end
if live(x) then
  if row.pauseAtMs ~= '' then return { '0', '1', whole(x), '' } end
  put(x, 'pauseAtMs', text(x.now))
  x.channel = prefix(x) .. ':requests:' .. row.worker
  touch(x)
  save(x)
  return { '1', '1', whole(x), '' }
end
m.take(x)
if row.cancelAtMs ~= '' then
  m.finish(x, 'canceled', CANCELED_EVENT)
else
  m.suspend(x, 'paused', '', PAUSED_EVENT)
end
touch(x)
save(x)
return { '1', '0', whole(x), tasks(x) }
