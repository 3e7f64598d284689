-- Purpose: moves a claim's expiry.
-- KEYS: the nine of an execution (lib.lua).
-- ARGV: 1 fence, 2 operation, 3 TTL in ms, 4 states of the move, then the tail.
-- Returns: "<cancel recorded> <pause recorded> <ms the claim lasts>".
-- Refuses: NOTFOUND, FENCED, CONFLICT (an operation that was passed), STATE.
-- Invariant: after a cancel no claim is extended past the cancel's grace; the version stays.
local fence, operation, ttl, states = unpack(ARGV, 1, 4)
local t = tail()
local x = open(t, {
  'id', 'state', 'runnableAtMs', 'fence', 'expiresAtMs', 'cancelAtMs', 'pauseAtMs', 'operationFence', 'operation', 'operationAnswer',
})
local row = x.row

local answer = repeated(x, fence, operation, 'renew')
if answer and row.fence == fence then return answer end
local refusal = hold(x, fence, operation)
if refusal then return refusal end
if not contains(states, row.state) then return refuse('STATE', row.state) end

local expires = x.now + number(ttl)
if row.cancelAtMs ~= '' then expires = math.max(x.now, math.min(expires, number(row.cancelAtMs) + CANCEL_GRACE)) end
put(x, 'expiresAtMs', text(expires))
if row.state == 'running' then move(x, 'due', expires) end
answer = table.concat({
  row.cancelAtMs ~= '' and '1' or '0', row.pauseAtMs ~= '' and '1' or '0', text(expires - x.now),
}, ' ')
remember(x, fence, operation, 'renew', answer)
save(x, true)
return answer
