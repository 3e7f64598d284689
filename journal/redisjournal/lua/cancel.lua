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
if live(x) then
  if row.cancelAtMs ~= '' then return { '0', '1', whole(x), '' } end
  put(x, 'cancelAtMs', text(x.now))
  event(x, requested_event)
  x.channel = prefix(x) .. ':requests:' .. row.worker
  touch(x)
  save(x)
  return { '1', '1', whole(x), '' }
end
m.take(x)
m.finish(x, 'canceled', CANCELED_EVENT)
touch(x)
save(x)
return { '1', '0', whole(x), tasks(x) }
