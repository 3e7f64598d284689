-- Purpose: answers the open interaction.
-- KEYS: the nine of an execution (lib.lua).
-- ARGV: 1 operation id, 2 request id, 3 response, 4 receipt, 5 states of the move, 6 received event, then the tail.
-- Returns: {replayed, sequence, event, row, tasks}.
-- Refuses: NOTFOUND, CONFLICT (the operation id answered otherwise; interaction_closed).
-- Invariant: receipt, inbox entry, state and event are one write; the receipt is looked at first, whatever the state.
local operation, request, response, receipt, states, received_event = unpack(ARGV, 1, 6)
local t = tail()
local x = open(t)
local row = x.row
local m = moves()

local function reply(replayed, sequence, lines)
  return { replayed, sequence, redis.call('LINDEX', x.events, number(sequence) - 1), whole(x), lines }
end

if not x.exists then return refuse('NOTFOUND', 'execution') end
local known = redis.call('HGET', x.receipts, 'operation:' .. operation)
if known then
  local sequence, stored = string.match(known, '^(%d+) (.*)$')
  if stored ~= receipt then return refuse('CONFLICT', 'the operation id answered otherwise') end
  return reply('1', sequence, standing(x))
end
if not contains(states, row.state) or row.interactionRequest ~= request then
  return refuse('CONFLICT', 'interaction_closed')
end

event(x, received_event)
local sequence = text(redis.call('LLEN', x.events) + 1)
later(x, 'HSET', x.receipts, 'operation:' .. operation, sequence .. ' ' .. receipt, 'request:' .. request, operation)
m.answer_interaction(x, response)
touch(x)
save(x)
return reply('0', sequence, tasks(x))
