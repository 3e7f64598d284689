-- Purpose: deletes a terminal execution whose retention has passed, with everything that only it needs.
-- KEYS: the nine of an execution (lib.lua).
-- ARGV: 1 index, 2 score seen in ms, 3 states of the move, 4 a key of another partition is gone (1 or empty), then the tail.
-- Returns: {1} when deleted, else {0}; {key, tenant, subject, idempotency key} when a key of another partition must go first.
-- Refuses: nothing: an entry that has moved on is left alone.
-- Invariant: a row whose clean-up is open is kept for RETENTION at least; the first write is a ZREM; the conversation goes with its last execution; a key goes with its row or before it,
--   never after it, so that it cannot take the key of a row that came later.
local index, at, states, key_gone = unpack(ARGV, 1, 4)
local x = open(tail())
local row = x.row
local m = moves()
if not x.exists or not m.due_entry(x, index, at) or not contains(states, row.state) then return { '0' } end
local last = number(row.endedAtMs) + math.max(m.kept(x), RETENTION)
if unclean(x) and last > x.now then
  move(x, 'purge', last)
  save(x, true)
  return { '0' }
end
local key = redis.call('HGET', x.key, 'idempotencyKey') or ''
if key ~= '' and row.keyMember == '' and key_gone == '' then return { 'key', row.tenant, row.subject, key } end

erase(x)
if row.keyMember ~= '' then redis.call('UNLINK', partition(x) .. row.keyMember) end
return { '1' }
