-- Purpose: opens an interaction and parks the execution on it.
-- KEYS: the nine of an execution (lib.lua).
-- ARGV: 1 fence, 2 operation, 3 states of the move, 4 request id, 5 interaction, 6 its expiry in ms (empty: none), 7 on
--   expiry, 8 wait kind, 9 inbox entry and 10 event of an expiry, 11 required event, then the tail.
-- Returns: {replayed, sequence, event, row, tasks}.
-- Refuses: NOTFOUND, FENCED, CONFLICT (another interaction, or one answered before), STATE (also with a cancel or a pause
--   recorded: the holder releases), LIMIT (the log is full).
-- Invariant: one interaction is open at a time; the claim ends.
local fence, operation, states, request, interaction, expires, on_expiry, kind, expired, received, payload =
  unpack(ARGV, 1, 11)
local x = open(tail())
local row = x.row
local m = moves()

local function reply(replayed, sequence)
  return { replayed, sequence, redis.call('LINDEX', x.events, number(sequence) - 1), whole(x), '' }
end

local answer = repeated(x, fence, operation, 'begin interaction')
if answer then return reply('1', answer) end
local refusal = hold(x, fence, operation)
if refusal then return refusal end
if not contains(states, row.state) then return refuse('STATE', row.state) end
if row.cancelAtMs ~= '' or row.pauseAtMs ~= '' then return refuse('STATE', 'a cancel or a pause is recorded') end
refusal = m.asked(x, request, {})
if refusal then return refusal end
if not room(x, 1) then return refuse('LIMIT', 'events') end

let_go(x)
m.ask(x, request, interaction, expires, on_expiry, kind, expired, received, payload)
local sequence = text(redis.call('LLEN', x.events) + 1)
remember(x, fence, operation, 'begin interaction', sequence)
touch(x)
save(x)
return reply('0', sequence)
