-- Purpose: makes a step runnable again: its claim ran out, its hand-off passed, or its timer fired.
-- KEYS: the nine of an execution (lib.lua).
-- ARGV: 1 index, 2 score seen in ms, 3 wake number seen, 4 states of the move, then the tail.
-- Returns: {moved, state, tasks}.
-- Refuses: nothing: an entry that has moved on is left alone.
-- Invariant: the wake number is raised only if it still is the one seen; the fence stays, so that a late holder may still
--   commit until somebody claims.
local index, at, wake, states = unpack(ARGV, 1, 4)
local t = tail()
local x = open(t)
local row = x.row
local m = moves()

if not x.exists or not m.due_entry(x, index, at) or not contains(states, row.state) or number(row.wake) ~= number(wake)
  or row.active == '' or live(x) or number(row.notBeforeMs) > x.now then
  return { '0', '', '' }
end

if row.cancelAtMs ~= '' then
  m.take(x)
  m.finish(x, 'canceled', CANCELED_EVENT)
  touch(x)
else
  local kind, till = row.waitKind, row.waitUntilMs
  runnable(x, GRACE)
  put(x, 'waitKind', kind) -- what the view shows changes with the claim
  put(x, 'waitUntilMs', till)
end
save(x)
return { '1', row.state, tasks(x) }
