-- Purpose: marks a delegation revoked, and ends a finalizing execution for which nothing else is open.
-- KEYS: the nine of an execution (lib.lua).
-- ARGV: 1 lease (empty: of one that was only intended), 2 states of the move, then the tail.
-- Returns: {changed, pending, row, tasks}.
-- Refuses: NOTFOUND, STATE, CONFLICT (another lease).
-- Invariant: the mark never goes back.
local lease, states = unpack(ARGV, 1, 2)
local t = tail()
local x = open(t)
local row = x.row
local m = moves()

if not x.exists then return refuse('NOTFOUND', 'execution') end
if not contains(states, row.state) then return refuse('STATE', row.state) end
if row.delegated == '' or row.delegationLease ~= lease then return refuse('CONFLICT', 'another delegation') end
if row.delegationClean ~= '' then return { '0', '0', whole(x), '' } end

put(x, 'delegationClean', '1')
m.cleaned(x)
touch(x)
save(x)
return { '1', '0', whole(x), tasks(x) }
