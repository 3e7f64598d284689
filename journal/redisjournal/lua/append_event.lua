-- Purpose: writes an event without a change of state.
-- KEYS: the nine of an execution (lib.lua).
-- ARGV: 1 fence, 2 operation, 3 states of the move, 4 event, then the tail.
-- Returns: {sequence, event}.
-- Refuses: NOTFOUND, FENCED, CONFLICT, STATE, LIMIT (the log is full).
-- Invariant: room for the terminal event is kept.
local fence, operation, states, payload = unpack(ARGV, 1, 4)
local x = open(tail())

local answer = repeated(x, fence, operation, 'append event')
if answer then return { answer, redis.call('LINDEX', x.events, number(answer) - 1) } end
local refusal = hold(x, fence, operation)
if refusal then return refusal end
if not contains(states, x.row.state) then return refuse('STATE', x.row.state) end
if not room(x, 1) then return refuse('LIMIT', 'events') end

event(x, payload)
local sequence = text(redis.call('LLEN', x.events) + 1)
remember(x, fence, operation, 'append event', sequence)
touch(x)
save(x)
return { sequence, redis.call('LINDEX', x.events, number(sequence) - 1) }
