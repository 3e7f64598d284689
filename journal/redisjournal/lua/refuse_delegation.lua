-- Purpose: ends an execution, failed, that still waits for its delegation.
-- KEYS: the nine of an execution (lib.lua).
-- ARGV: 1 states of the move, 2 terminal states, 3 failure, 4 failed event, then the tail.
-- Returns: {changed, pending, row, tasks}.
-- Refuses: NOTFOUND, STATE (also of one whose delegation is there, or that was reserved without).
-- Invariant: what may have been made for it outside is left to the clean-up.
local states, terminal, failure, payload = unpack(ARGV, 1, 4)
local t = tail()
local x = open(t)
local row = x.row
local m = moves()

if not x.exists then return refuse('NOTFOUND', 'execution') end
if contains(terminal, row.state) then return { '0', '0', whole(x), '' } end
if not contains(states, row.state) then return refuse('STATE', row.state) end
if not intended(x) then return refuse('STATE', 'it does not wait for a delegation') end

put(x, 'failure', failure)
m.finish(x, 'failed', payload)
touch(x)
save(x)
return { '1', '0', whole(x), tasks(x) }
