-- Purpose: ends an execution, or records the cancel when a live claim holds it.
-- KEYS: the nine of an execution (lib.lua).
-- ARGV: 1 states of the move, 2 terminal states, 3 cancel_requested event, then the tail.
-- Returns: {changed, pending, row, tasks}.
-- Refuses: NOTFOUND, STATE (finalizing).
-- Invariant: without a live claim nobody has to be asked; a cancel recorded once stays.
local states, terminal, requested_event = unpack(ARGV, 1, 3)
local t = tail()
local x = open(t)
local row = x.row
local m = moves()

if not x.exists then return refuse('NOTFOUND', 'execution') end
if contains(terminal, row.state) then return { '0', '0', whole(x), '' } end
if not contains(states, row.state) then return refuse('STATE', row.state) end
local ended, changed = m.revoke(x, requested_event)
if changed then
  touch(x)
  save(x)
end
return { changed and '1' or '0', ended and '0' or '1', whole(x), tasks(x) }
