-- Purpose: takes a suspended execution back to where it was.
-- KEYS: the nine of an execution (lib.lua).
-- ARGV: 1 states of the move, 2 other open states, 3 resumed event, 4 overrides (empty: unchanged), 5 ms from the start to
--   the deadline (empty: unchanged), then the tail.
-- Returns: {changed, pending, row, tasks}.
-- Refuses: NOTFOUND, STATE (terminal, finalizing).
-- Invariant: attempts and reclaims begin anew; a wait still holds that has not passed, and for which not all is there.
local states, unchanged, resumed_event, overrides, deadline = unpack(ARGV, 1, 5)
local t = tail()
local x = open(t)
local row = x.row
local m = moves()

if not x.exists then return refuse('NOTFOUND', 'execution') end
if contains(unchanged, row.state) then return { '0', '0', whole(x), '' } end
if not contains(states, row.state) then return refuse('STATE', row.state) end

put(x, 'suspensionReason', '')
put(x, 'suspensionDetail', '')
clear(x, 'attempts', 'reclaims', 'reclaimWorkers', 'restAtMs')
if overrides ~= '' then put(x, 'overrides', overrides) end
if deadline ~= '' then
  put(x, 'deadlineMs', deadline)
  if row.startedAtMs ~= '' then put(x, 'deadlineAtMs', text(number(row.startedAtMs) + number(deadline))) end
end
event(x, resumed_event)
local waits = number(row.notBeforeMs) > x.now
if row.startedAtMs == '' then
  put(x, 'state', 'queued')
  waits = waits or row.active == '' or intended(x)
elseif row.interactionRequest ~= '' and row.interactionAnswered == '' then
  put(x, 'state', 'waiting_for_input')
  waits = true
else
  put(x, 'state', 'running')
  if m.arrived(x) then
    clear(x, 'notBeforeMs')
    waits = false
  else
    waits = waits or row.waitKind ~= '' and row.notBeforeMs == ''
  end
end
if waits then m.rest(x) else runnable(x, GRACE) end
touch(x)
save(x)
return { '1', '0', whole(x), tasks(x) }
