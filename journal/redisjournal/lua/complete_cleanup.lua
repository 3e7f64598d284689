-- Purpose: says that what was to be undone outside is, and ends a finalizing execution for which nothing else is open.
-- KEYS: the nine of an execution (lib.lua).
-- ARGV: 1 what was undone, 2 states of the move, then the tail.
-- Returns: {changed, pending, row, tasks}.
-- Refuses: NOTFOUND, STATE, CONFLICT (something else is to be undone).
-- Invariant: what the row says now is forgotten only when it is what was undone.
local cleanup, states = unpack(ARGV, 1, 2)
local t = tail()
local x = open(t)
local row = x.row
local m = moves()

if not x.exists then return refuse('NOTFOUND', 'execution') end
if not contains(states, row.state) then return refuse('STATE', row.state) end
if row.cleanup == '' then return { '0', '0', whole(x), '' } end
if row.cleanup ~= cleanup then return refuse('CONFLICT', 'another clean-up') end

owe(x, '')
m.cleaned(x)
touch(x)
save(x)
return { '1', '0', whole(x), tasks(x) }
