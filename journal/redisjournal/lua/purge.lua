-- Purpose: deletes a terminal execution whose retention has passed, with everything that only it needs.
-- KEYS: the nine of an execution (lib.lua).
-- ARGV: 1 index, 2 score seen in ms, 3 states of the move, 4 a key of another partition is gone (1 or empty), then the tail.
-- Returns: {1} when deleted, else {0}; {key, tenant, subject, idempotency key} when a key of another partition must go first.
-- Refuses: nothing: an entry that has moved on is left alone.
-- Invariant: the first write is a ZREM; the conversation goes with its last execution; a key goes with its row or before it,
--   never after it, so that it cannot take the key of a row that came later.
local index, at, states, key_gone = unpack(ARGV, 1, 4)
local x = open(tail())
local row = x.row
local m = moves()
if not x.exists or not m.due_entry(x, index, at) or not contains(states, row.state) then return { '0' } end
local key = redis.call('HGET', x.key, 'idempotencyKey') or ''
if key ~= '' and row.keyMember == '' and key_gone == '' then return { 'key', row.tenant, row.subject, key } end
local talk = conversation(x)
local left = number(redis.call('HGET', talk, 'executions'))

redis.call('ZREM', x.purge, row.id)
redis.call('ZREM', x.due, row.id)
redis.call('ZREM', x.handoff, row.id)
redis.call('ZREM', partition(x) .. 'cleanup', row.id)
if row.callerIndex ~= '' then redis.call('ZREM', partition(x) .. row.callerIndex, row.id) end -- of an earlier release
local name = string.sub(row.id, TAIL)
for _, of in ipairs({ 'tenant', 'caller' }) do
  redis.call('ZREM', listing(x, of, ''), name)
  redis.call('ZREM', listing(x, of, row.state), name)
end
if row.keyMember ~= '' then redis.call('UNLINK', partition(x) .. row.keyMember) end
if left <= 1 then
  redis.call('UNLINK', talk, talk .. ':messages', talk .. ':waiting', talk .. ':executions')
else
  redis.call('HINCRBY', talk, 'executions', -1)
  redis.call('ZREM', talk .. ':executions', name)
  if redis.call('HGET', talk, 'only') == name then redis.call('HDEL', talk, 'only') end
end
redis.call('UNLINK', x.key, x.key .. ':blobs', x.key .. ':results', x.events, x.checkpoints, x.tools, x.inbox, x.receipts)
return { '1' }
