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

if not x.exists then return refuse('NOTFOUND', 'execution') end
if row.state == 'suspended' then return { '0', '0', whole(x), '' } end
if not contains(states, row.state) then return refuse('STATE', row.state) end
if live(x) then
  if row.pauseAtMs ~= '' then return { '0', '1', whole(x), '' } end
  put(x, 'pauseAtMs', text(x.now))
  x.channels[1] = x.prefix .. ':requests:' .. row.worker
  touch(x)
  save(x)
  return { '1', '1', whole(x), '' }
end
take(x)
if row.cancelAtMs ~= '' then
  finish(x, 'canceled', t.canceled)
else
  suspend(x, 'paused', '', t.paused)
end
touch(x)
save(x)
return { '1', '0', whole(x), tasks(x) }
