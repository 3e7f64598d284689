-- Purpose: ends the execution by its holder, or writes the event of a start.
-- KEYS: the nine of an execution (lib.lua).
-- ARGV: 1 fence, 2 operation, 3 name of the call, 4 expected states, 5 states of the move, 6 next state, 7 field and 8 blob
--   of outcome or failure, 9 event, then the tail.
-- Returns: {replayed, sequence, event, row, tasks}.
-- Refuses: NOTFOUND, FENCED, CONFLICT, STATE, LIMIT (a start in a full log).
-- Invariant: the terminal event is the last one; the claim and the interaction end with it.
local fence, operation, name, expected, states, next_state, result, value, payload = unpack(ARGV, 1, 9)
local t = tail()
local x = open(t)
local row = x.row
local m = moves()

local function reply(replayed, sequence, lines)
  return { replayed, sequence, redis.call('LINDEX', x.events, number(sequence) - 1), whole(x), lines }
end

local answer = repeated(x, fence, operation, name)
if answer then
  local sequence, lines = string.match(answer, '^(%d+)\n(.*)$')
  return reply('1', sequence, lines)
end
local refusal = hold(x, fence, operation)
if refusal then return refusal end
if not contains(expected, row.state) then return refuse('STATE', row.state) end
if not contains(states, row.state) then return refuse('STATE', row.state) end
if next_state == 'running' and not room(x, 1) then return refuse('LIMIT', 'events') end

if next_state == 'running' then
  event(x, payload)
else
  if result ~= '' then put(x, result, value) end
  m.finish(x, next_state, payload)
end
touch(x)
local sequence = text(redis.call('LLEN', x.events) + 1)
remember(x, fence, operation, name, sequence .. '\n' .. tasks(x))
save(x)
return reply('0', sequence, tasks(x))
