-- Purpose: moves the state without an event, by a holder: to finalizing.
-- KEYS: the nine of an execution (lib.lua).
-- ARGV: 1 fence, 2 operation, 3 expected states, 4 states of the move (empty: no such move), then the tail.
-- Returns: row.
-- Refuses: NOTFOUND, FENCED, CONFLICT, STATE.
-- Invariant: the claim stays; the move is invisible in the log.
local fence, operation, expected, states = unpack(ARGV, 1, 4)
local x = open(tail())
local m = moves()

if repeated(x, fence, operation, 'transition') then return whole(x) end
local refusal = hold(x, fence, operation)
if refusal then return refusal end
if not contains(expected, x.row.state) then return refuse('STATE', x.row.state) end
if not contains(states, x.row.state) then return refuse('STATE', x.row.state) end

m.finalize(x, '', '')
remember(x, fence, operation, 'transition', '')
touch(x)
save(x)
return whole(x)
