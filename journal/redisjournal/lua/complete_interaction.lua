-- Purpose: says that the answer was used: the interaction is closed and its inbox entry deleted.
-- KEYS: the nine of an execution (lib.lua).
-- ARGV: 1 fence, 2 operation, 3 states of the move, 4 request id, then the tail.
-- Returns: row.
-- Refuses: NOTFOUND, FENCED, STATE, CONFLICT (no answer, or unknown).
-- Invariant: no event; closed already with a receipt is fine.
local fence, operation, states, request = unpack(ARGV, 1, 4)
local x = open(tail())
local row = x.row
local m = moves()

if repeated(x, fence, operation, 'complete interaction') then return whole(x) end
local refusal = hold(x, fence, operation)
if refusal then return refusal end
if not contains(states, row.state) then return refuse('STATE', row.state) end
local receipt = redis.call('HEXISTS', x.receipts, 'request:' .. request) == 1
local is_open = row.interactionRequest ~= '' and row.interactionRequest == request
local answered = receipt or redis.call('HEXISTS', x.inbox, request) == 1
if is_open and not answered or not is_open and not receipt then
  return refuse('CONFLICT', 'interaction ' .. request .. ' has no answer')
end

if is_open then
  m.clear_interaction(x)
  later(x, 'HDEL', x.inbox, request)
  touch(x)
end
remember(x, fence, operation, 'complete interaction', '')
save(x)
return whole(x)
