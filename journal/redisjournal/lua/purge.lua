-- Purpose: deletes a terminal execution whose retention has passed, with everything that only it needs.
-- KEYS: the nine of an execution (lib.lua).
-- ARGV: 1 index, 2 score seen in ms, 3 states of the move, then the tail.
-- Returns: 1 when deleted, else 0.
-- Refuses: nothing: an entry that has moved on is left alone.
-- Invariant: the first write is a ZREM; the conversation goes with its last execution, a key of this partition with its row.
local index, at, states = unpack(ARGV, 1, 3)
local x = open(tail())
local row = x.row
if not x.exists or not due_entry(x, index, at) or not contains(states, row.state) then return 0 end
local talk = conversation(x)
local left = number(redis.call('HGET', talk, 'executions'))

redis.call('ZREM', x.purge, row.id)
redis.call('ZREM', x.due, row.id)
redis.call('ZREM', x.handoff, row.id)
redis.call('ZREM', x.partition .. 'cleanup', row.id)
redis.call('ZREM', x.partition .. row.callerIndex, row.id)
if row.keyMember ~= '' then redis.call('UNLINK', x.partition .. row.keyMember) end
if left <= 1 then
  redis.call('UNLINK', talk, talk .. ':messages', talk .. ':waiting')
else
  redis.call('HINCRBY', talk, 'executions', -1)
end
redis.call('UNLINK', x.key, x.events, x.checkpoints, x.tools, x.inbox, x.receipts)
return 1
